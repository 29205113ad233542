"""The QoS of an inventory, of which an entry with `for_each` becomes one for each account of that kind."""

from gpupool.cluster.resolve.partitions import ACCOUNT
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.labs import Account, Qos

_PATTERNS = ("default_for", "replaces", "preempts")


def keys_of_qos(inventory: Inventory) -> dict[str, tuple[str, str]]:
    """Return the key as written, and the account, of each QoS that an entry with `for_each` defines.

    A QoS that another entry also defines is not among them: a check complains about it.
    """
    keys: dict[str, tuple[str, str]] = {}
    for key, entry in inventory.qos.items():
        for account in accounts_of(inventory, key, entry):
            name = key.replace(ACCOUNT, account.name)
            if name not in inventory.qos:
                keys.setdefault(name, (key, account.name))
    return keys


def accounts_of(inventory: Inventory, key: str, entry: Qos) -> list[Account]:
    """Return the accounts that get their own QoS from an entry; none without `for_each`, or {account} in the key."""
    if ACCOUNT not in key:
        return []
    return [account for account in inventory.accounts if account.kind == entry.for_each]


def with_each_qos(inventory: Inventory, keys: dict[str, tuple[str, str]]) -> Inventory:
    """Return the inventory with the QoS of `keys_of_qos` in place of their entries, and in `qos` of their accounts."""
    if not any(entry.for_each for entry in inventory.qos.values()):
        return inventory
    qos: dict[str, Qos] = {}
    for key, entry in inventory.qos.items():
        if entry.for_each is None or ACCOUNT not in key:
            qos[key] = entry
        else:
            qos |= {name: _filled(entry, account) for name, (its, account) in keys.items() if its == key}
    own: dict[str, list[str]] = {}
    for name, (_, account) in keys.items():
        own.setdefault(account, []).append(name)
    accounts = tuple(
        account.model_copy(update={"qos": tuple(dict.fromkeys((*account.qos, *own.get(account.name, ()))))})
        for account in inventory.accounts
    )
    return inventory.model_copy(update={"qos": qos, "accounts": accounts})


def _filled(entry: Qos, account: str) -> Qos:
    filled = {key: tuple(name.replace(ACCOUNT, account) for name in getattr(entry, key)) for key in _PATTERNS}
    return entry.model_copy(update={**filled, "everybody": False, "default": False})
