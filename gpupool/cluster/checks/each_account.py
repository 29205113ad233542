"""Check limits per account, for QoS and partitions that several accounts share."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.lab_rights import LabRights
from gpupool.cluster.resolve.ownership import Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Amounts


def ensure_each_kind_of_accounts_has_one(site: Site) -> Iterator[Complaint]:
    """The kind of an entry with `for_each` has an account; else the entry defines no QoS and no partition."""
    kinds = {account.kind for account in site.written.accounts}
    entries: dict[Path, str | None] = {("qos", name): entry.for_each for name, entry in site.written.qos.items()}
    entries |= {("partitions", index): entry.for_each for index, entry in enumerate(site.written.partitions)}
    for path, kind in entries.items():
        if kind is not None and kind not in kinds:
            message = f"no account is a {kind}, so this entry defines nothing"
            yield Complaint((*path, "for_each"), message, "add an account of this kind, or remove the entry", "warning")


def ensure_limits_of_each_account_are_not_on_one(site: Site) -> Iterator[Complaint]:
    """`per_account` is only for QoS and partitions; an account itself has group limits."""
    for index, account in enumerate(site.inventory.accounts):
        if account.limits.per_account.model_fields_set:
            path = ("accounts", index, "limits", "per_account")
            yield Complaint(path, "is only for QoS and partitions that accounts share", "use group here")


def ensure_limits_of_each_account_leave_labs_what_they_own(site: Site) -> Iterator[Complaint]:
    """Each lab has a partition and a QoS in which no limit per account is below what the lab owns.

    The partitions of an owner of nodes are those with its nodes.
    """
    lab_rights, qos = LabRights.of(site), site.inventory.qos
    for owner in site.ownership.owners:
        unpreempted = [
            place
            for place in lab_rights.partitions_without_preemption(owner.name)
            if not owner.nodes or owner.nodes & site.nodes_of(place.nodes)
        ]
        own = owner.account.qos
        theirs = {
            name: entry
            for name, entry in qos.items()
            if ((entry.everybody and not entry.default_for) or owner.name in entry.default_for or name in own)
            and not entry.preemptable
        }
        ways = [
            (place, name)
            for place in unpreempted
            for name in theirs or ("",)
            if not place.qos or not theirs or name in place.qos
        ]
        narrow = {place.name for place in unpreempted if _below(place.limits.per_account, owner)}
        slow = {name for name, qos in theirs.items() if _below(qos.limits.per_account, owner)}
        if ways and all(place.name in narrow or name in slow for place, name in ways):
            where = " and ".join([*sorted(narrow), *(f"QoS {qos}" for qos in sorted(slow))])
            message = f"limits.per_account of {where} keeps {owner.name} from what it owns"
            hint = "remove it from one of its partitions, and from a QoS that it may use there"
            yield Complaint(("accounts", owner.index), message, hint)


def _below(limit: Amounts, owner: Owner) -> bool:
    """Return whether a limit may prevent an owner from using all that it owns."""
    whole = bool(owner.nodes)
    gpus = limit.gpu is not None and (whole or limit.gpu < owner.gpus)
    types = any(whole or owner.number or count < owner.types.get(gpu, 0) for gpu, count in limit.gpus.items())
    cpus = limit.cpu is not None and (owner.cpus is None or limit.cpu < owner.cpus)
    return gpus or types or cpus or any(amount is not None for amount in (limit.mem, limit.nodes, limit.billing))
