"""Check that every name that is used exists, and is defined once."""

import ipaddress
from collections.abc import Iterable, Iterator
from zoneinfo import ZoneInfo

from gpupool.addresses import is_dns_name
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.own_hardware import keys_of
from gpupool.cluster.resolve.each_qos import accounts_of
from gpupool.cluster.resolve.partitions import ACCOUNT
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition
from gpupool.unix import PEOPLE_GID

_NEEDS_EACH_OTHER = f"for_each needs {ACCOUNT} in the name, and {ACCOUNT} needs for_each"
# Users and groups of the system, and of packages that gpupool installs.
_TAKEN = frozenset(
    (
        "root",
        "daemon",
        "bin",
        "sys",
        "mail",
        "nobody",
        "slurm",
        "munge",
        "mysql",
        "sshd",
        "people",
        "docker",
        "sudo",
        "users",
    )
)


def unknown(path: Path, what: str, name: str, known: Iterable[str], hint: str | None = None) -> Complaint:
    """Return the complaint about an unknown name; `what` is the kind of thing that it should name.

    The hint is the nearest known name, or else `hint`.
    """
    near = misspelt(name, known)
    return Complaint(path, f"there is no {what} {name!r}", f"did you mean {near[0]}?" if near else hint)


def ensure_machines_are_known(site: Site) -> Iterator[Complaint]:
    """Hardware and GPU types of nodes exist; compute nodes have hardware."""
    inventory = site.inventory
    for index, node in enumerate(inventory.nodes):
        path: Path = ("nodes", index)
        if node.hardware and node.hardware not in inventory.hardware:
            yield unknown((*path, "hardware"), "hardware", node.hardware, inventory.hardware)
        if not node.hardware and (own := keys_of(node)):
            message = f"{node.name} has {' and '.join(own)}, but no cpus"
            yield Complaint(path, message, "set cpus, as `slurmd -C` prints it, or name an entry of `hardware:`")
        elif "compute" in node.roles and not node.hardware:
            message = f"{node.name} is a compute node and has no hardware"
            yield Complaint(path, message, "set cpus and memory, or name an entry of `hardware:`")
        for gpu in node.gpus:
            if gpu not in inventory.gpu_types:
                yield unknown((*path, "gpus", gpu), "GPU type", gpu, inventory.gpu_types)
        if "isolated" in node.roles and len(node.roles) > 1:
            yield Complaint((*path, "roles"), "an isolated node cannot have another role")


def ensure_addresses_are_in_the_network(site: Site) -> Iterator[Complaint]:
    """Each managed node has an IPv4 address within cluster.network; other nodes may have a DNS name instead of it."""
    try:
        network = ipaddress.IPv4Network(site.inventory.cluster.network)
    except ValueError as error:
        yield Complaint(("cluster", "network"), f"not an IPv4 network: {error}", "write 10.66.0.0/16")
        return
    yield from _testbeds_network(site, network)
    for node in site.node_table.nodes:
        path: Path = (*node.path, "address")
        if node.address is None:
            if node.entry.managed:
                yield Complaint(node.path, f"{node.name} has no address", "add one, or managed: false")
            continue
        if is_dns_name(node.address):
            if node.entry.managed:
                hint = "a node with `managed: false` can have a DNS name as address"
                yield Complaint(path, f"{node.address!r} is not an IPv4 address", hint)
            continue
        try:
            address = ipaddress.IPv4Address(node.address)
        except ValueError:
            yield Complaint(path, f"{node.address!r} is not an IPv4 address")
            continue
        if node.entry.managed and address not in network:
            yield Complaint(path, f"{node.name}: {address} is outside cluster.network {network}")


def ensure_host_names_are_of_nodes_that_gpupool_leaves(site: Site) -> Iterator[Complaint]:
    """A host name besides the node's name is that of a node with `managed: false`, and a name that DNS takes."""
    for node in site.node_table.nodes:
        path: Path = (*node.path, "hostname")
        if node.hostname is None:
            continue
        if node.entry.managed:
            message = f"the machine of {node.name} has the node's name: gpupool sets it"
            yield Complaint(path, message, "remove it, or add managed: false")
        elif not is_dns_name(node.hostname):
            yield Complaint(path, f"{node.hostname!r} is not a host name")


def _testbeds_network(site: Site, network: ipaddress.IPv4Network) -> Iterator[Complaint]:
    testbed = site.inventory.testbed
    if testbed is None or testbed.network is None:
        return
    try:
        its = ipaddress.IPv4Network(testbed.network)
    except ValueError as error:
        yield Complaint(("testbed", "network"), f"not an IPv4 network: {error}", "write 10.166.0.0/16")
        return
    if its.prefixlen > network.prefixlen:
        yield Complaint(("testbed", "network"), f"{its} is smaller than cluster.network {network}")


def ensure_the_time_zone_exists(site: Site) -> Iterator[Complaint]:
    """cluster.timezone is in the time zone database of this machine, if it has one."""
    name = site.inventory.cluster.timezone
    if _is_zone("Etc/UTC") and not _is_zone(name):
        yield Complaint(("cluster", "timezone"), f"there is no time zone {name!r}", "write Europe/Berlin")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return True


def ensure_accounts_are_known(site: Site) -> Iterator[Complaint]:
    """The accounts in parents, users, QoS, partitions and spaces exist."""
    inventory, known = site.inventory, site.account_names
    named: list[tuple[Path, str]] = []
    named += [(("accounts", i, "parent"), a.parent) for i, a in enumerate(inventory.accounts) if a.parent]
    named += [(("users", i, "account"), user.account) for i, user in enumerate(inventory.users)]
    named += [
        (("qos", q, "default_for", i), a) for q, qos in inventory.qos.items() for i, a in enumerate(qos.default_for)
    ]
    named += [(("storage", "spaces", account), account) for account in inventory.storage.spaces]
    for path, partition in site.partitions():
        for key in ("allow_accounts", "deny_accounts"):
            named += [((*path, key, i), a) for i, a in enumerate(getattr(partition, key)) if not _each(partition, a)]
    yield from (unknown(path, "account", name, known) for path, name in named if name not in known)


def _each(partition: Partition, name: str) -> bool:
    return name == ACCOUNT and partition.for_each is not None


def ensure_parents_form_no_cycle(site: Site) -> Iterator[Complaint]:
    """No account is its own ancestor."""
    parents = {account.name: account.parent for account in site.inventory.accounts}
    for index, account in enumerate(site.inventory.accounts):
        above, seen = account.parent, set[str]()
        while above and above not in seen:
            seen.add(above)
            above = parents.get(above)
        if account.name in seen:
            yield Complaint(("accounts", index, "parent"), f"the account {account.name} is its own ancestor")


def ensure_qos_are_known(site: Site) -> Iterator[Complaint]:
    """The QoS in partitions, users and other QoS exist."""
    inventory = site.inventory
    named: list[tuple[Path, str]] = []
    named += [((*path, "qos", i), q) for path, partition in site.partitions() for i, q in enumerate(partition.qos)]
    named += [
        ((*path, "default_qos"), partition.default_qos)
        for path, partition in site.partitions()
        if partition.default_qos
    ]
    named += [(("users", n, "qos", i), q) for n, user in enumerate(inventory.users) for i, q in enumerate(user.qos)]
    named += [
        (("users", n, "grants", i, "qos"), g.qos) for n, u in enumerate(inventory.users) for i, g in enumerate(u.grants)
    ]
    named += [
        (("qos", name, "replaces", i), q) for name, qos in inventory.qos.items() for i, q in enumerate(qos.replaces)
    ]
    named += [
        (("qos", name, "preempts", i), q) for name, qos in inventory.qos.items() for i, q in enumerate(qos.preempts)
    ]
    yield from (unknown(path, "QoS", name, inventory.qos) for path, name in named if name not in inventory.qos)


def ensure_each_qos_is_defined_once(site: Site) -> Iterator[Complaint]:
    """With `for_each`, each account has its QoS, with a name that no other entry has, and no other user has it."""
    first: dict[str, str] = {key: key for key, entry in site.written.qos.items() if entry.for_each is None}
    for key, entry in site.written.qos.items():
        path: Path = ("qos", key)
        if (entry.for_each is not None) != (ACCOUNT in key):
            yield Complaint(path, _NEEDS_EACH_OTHER)
        for account in accounts_of(site.written, key, entry):
            name = key.replace(ACCOUNT, account.name)
            if first.setdefault(name, key) != key:
                yield Complaint(path, f"the QoS {name} is defined twice; also in qos.{first[name]}")
        if entry.for_each and entry.default:
            hint = f'set default_for: ["{ACCOUNT}"] for the default of each account\'s users'
            yield Complaint((*path, "default"), "the cluster has one default QoS, and these are several", hint)
        if entry.for_each and entry.everybody and "everybody" in entry.model_fields_set:
            message = "with for_each, only the users of an account have its QoS"
            yield Complaint((*path, "everybody"), message, "remove it")


def ensure_partitions_are_known(site: Site) -> Iterator[Complaint]:
    """The partitions in users, the arbiter and the scheduler exist; each name is defined once."""
    inventory = site.inventory
    names: dict[str, Path] = {}
    folded: dict[str, str] = {}
    for index, entry in enumerate(inventory.partitions):
        if (entry.for_each is not None) != (ACCOUNT in entry.name):
            yield Complaint(("partitions", index, "name"), _NEEDS_EACH_OTHER)
    for path, partition in site.partitions():
        for name, _ in site.partition_names(partition):
            if name in names:
                yield Complaint(
                    (*path, "name"), f"the partition {name} is defined twice; first in partitions[{names[name][1]}]"
                )
            elif (other := folded.setdefault(name.lower(), name)) != name:
                message = f"{name} and {other} differ in case only, and Slurm would give their limits one QoS"
                yield Complaint((*path, "name"), message, "rename one of them")
            names.setdefault(name, path)
    named: list[tuple[Path, str]] = []
    named += [
        (("users", n, "partitions", i), p) for n, u in enumerate(inventory.users) for i, p in enumerate(u.partitions)
    ]
    named += [
        (("users", n, "default_partition"), u.default_partition)
        for n, u in enumerate(inventory.users)
        if u.default_partition
    ]
    if inventory.preemption.arbiter:
        arbiter: Path = ("preemption", "arbiter", "partitions")
        named += [((*arbiter, i), p) for i, p in enumerate(inventory.preemption.arbiter.partitions)]
    if inventory.scheduler.default_partition not in ("none", "per_user", "fit"):
        named.append((("scheduler", "default_partition"), inventory.scheduler.default_partition))
    yield from (unknown(path, "partition", name, names) for path, name in named if name not in names)


def ensure_exports_are_known(site: Site) -> Iterator[Complaint]:
    """Servers are nodes; spaces and homes name exports; an enabled export has a server and a path."""
    storage = site.inventory.storage
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        if export.enabled and export.mounted_by == "gpupool" and (export.server is None or export.path is None):
            yield Complaint(path, "needs a server and a path", "add both, or set enabled: false until they are known")
        for word, name in (("server", export.server), ("made_on", export.made_on)):
            if name is not None and site.node_table.whole and name not in site.node_table.by_name:
                yield unknown((*path, word), "node", name, site.node_table.by_name)
    for key, pool in storage.pools.items():
        if pool.server is not None and site.node_table.whole and pool.server not in site.node_table.by_name:
            yield unknown(("storage", "pools", key, "server"), "node", pool.server, site.node_table.by_name)
    for account, spaces in storage.spaces.items():
        for space, name in spaces.items():
            if name not in storage.exports:
                yield unknown(("storage", "spaces", account, space), "export", name, storage.exports)
    if storage.home.export and storage.home.export not in storage.exports:
        yield unknown(("storage", "home", "export"), "export", storage.home.export, storage.exports)


def ensure_slurm_accepts_the_names(site: Site) -> Iterator[Complaint]:
    """Slurm stores names of accounts, users and QoS in lower case, and some names are reserved."""
    inventory = site.inventory
    named: list[tuple[Path, str, str]] = []
    named += [(("accounts", i, "name"), "account", a.name) for i, a in enumerate(inventory.accounts)]
    named += [(("users", i, "name"), "user", user.name) for i, user in enumerate(inventory.users)]
    named += [(("qos", name), "QoS", name) for name in inventory.qos]
    for path, kind, name in named:
        if name != name.lower():
            yield Complaint(path, f"Slurm stores {kind} names in lower case", f"write {name.lower()}")
        if kind != "QoS" and name in _TAKEN:
            yield Complaint(path, f"{name} is a system user or group on every node", "choose another name")
    limited = {
        f"partition-{name.lower()}": name for _, each in site.partitions() for name, _ in site.partition_names(each)
    }
    for name in inventory.qos:
        if name in limited:
            message = f"{name} is gpupool's name of the QoS with the limits of partition {limited[name]}"
            yield Complaint(("qos", name), message, "choose another name")
    for path, partition in site.partitions():
        if partition.name.lower() == "default":
            yield Complaint((*path, "name"), f"{partition.name} has a special meaning in slurm.conf")


def ensure_names_are_unique(site: Site) -> Iterator[Complaint]:
    """Accounts, users, user ids and group ids are each used once."""
    inventory = site.inventory
    values: list[tuple[str, list[tuple[Path, object]]]] = [
        ("account", [(("accounts", i, "name"), a.name) for i, a in enumerate(inventory.accounts)]),
        ("group id", [(("accounts", i, "gid"), a.gid) for i, a in enumerate(inventory.accounts) if a.gid]),
        ("user", [(("users", i, "name"), u.name) for i, u in enumerate(inventory.users)]),
        ("user id", [(("users", i, "uid"), u.uid) for i, u in enumerate(inventory.users) if u.uid]),
    ]
    for kind, entries in values:
        first: dict[object, Path] = {}
        for path, value in entries:
            if value in first:
                yield Complaint(
                    path, f"the {kind} {value} is defined twice; first in {first[value][0]}[{first[value][1]}]"
                )
            first.setdefault(value, path)
    homeless = {user.account for user in inventory.users} - {
        account.name for account in inventory.accounts if account.gid
    }
    for index, account in enumerate(inventory.accounts):
        if account.gid == PEOPLE_GID and homeless:
            message = f"{PEOPLE_GID} is reserved for the group `people`, for users whose account has no gid"
            yield Complaint(("accounts", index, "gid"), message, "choose another one")
