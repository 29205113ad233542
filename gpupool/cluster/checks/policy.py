"""Check settings that Slurm accepts without a message, but that break a promise."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.unix import within


def ensure_there_is_a_controller(site: Site) -> Iterator[Complaint]:
    """There is one controller and one database; the controller and its backups share the state directory."""
    roles = [(node, role) for node in site.node_table.nodes for role in node.entry.roles]
    for role, least, most in (("controller", 1, 1), ("database", 1, 1), ("compute", 1, None)):
        names = [node.name for node, its in roles if its == role]
        if len(names) < least:
            yield Complaint(("nodes",), f"no node has the role {role}")
        elif most and len(names) > most:
            message = f"{', '.join(names)} have the role {role}, but there can be only one"
            yield Complaint(
                ("nodes",), message, "give the others the role backup-controller" if role == "controller" else None
            )
    controllers = {node.name for node, role in roles if role in ("controller", "backup-controller")}
    if len(controllers) < 2 or "place" in site.inventory.slurm.left:  # a mount of the site
        return
    state = site.inventory.slurm.state
    storage = site.inventory.storage
    for key, export in storage.exports.items():
        at = export.at or f"{storage.mount_root}/{key}"
        selector = export.mount_on or storage.mount_on
        if within(state, at) and selector:
            try:
                if controllers <= set(site.node_table.select(selector)):
                    return
            except ValueError:
                return  # another check complains about it
    message = f"{state} is not on a mount that {' and '.join(sorted(controllers))} share"
    yield Complaint(("slurm", "state"), message, "the backup controller needs it to take over")


def ensure_one_default_qos(site: Site) -> Iterator[Complaint]:
    """A job without --qos gets the one default QoS of its account, or that of the cluster, which all users have."""
    names = [key for key, qos in site.inventory.qos.items() if qos.default]
    if len(names) > 1:
        yield Complaint(("qos", names[1], "default"), f"{' and '.join(names)} are both the default QoS")
    for name in names:
        if not site.inventory.qos[name].everybody:
            yield Complaint(
                ("qos", name, "everybody"),
                f"{name} is the default QoS, but not all users have it",
                "set `everybody: true`",
            )
    taken: dict[str, str] = {}
    for name, qos in site.inventory.qos.items():
        for index, account in enumerate(qos.default_for):
            if taken.setdefault(account, name) != name:
                message = f"{taken[account]} and {name} are both the default QoS of {account}"
                yield Complaint(("qos", name, "default_for", index), message)
    without = [account.name for account in site.inventory.accounts if account.name not in taken]
    if site.inventory.qos and not names and "normal" not in site.inventory.qos and (without or not taken):
        message = "no default QoS: jobs without --qos would be refused"
        of_accounts = f", or list {listed(without)} in default_for" if without else ""
        yield Complaint(("qos",), message, f"set default: true for one{of_accounts}")


def ensure_owners_have_a_higher_tier(site: Site) -> Iterator[Complaint]:
    """A preemptable partition has a lower tier than every partition on the same nodes that is not preemptable."""
    others = [partition for _, partition in site.partitions() if not site.is_preempted(partition)]
    for path, partition in site.partitions():
        here = site.nodes_of(partition.nodes) if partition.preemptable else frozenset()
        above = [other.name for other in others if other.tier <= partition.tier and site.nodes_of(other.nodes) & here]
        if above:
            message = f"the preemptable {partition.name} has tier {partition.tier}, not below {', '.join(above)}"
            yield Complaint((*path, "tier"), message, "jobs there could not preempt its jobs: set a lower tier")


def ensure_the_arbiter_spares_owners(site: Site) -> Iterator[Complaint]:
    """The arbiter ends jobs of preemptable partitions only."""
    arbiter = site.inventory.preemption.arbiter
    giving_way = {name: entry.preemptable for _, entry in site.partitions() for name, _ in site.partition_names(entry)}
    for index, name in enumerate(arbiter.partitions if arbiter else ()):
        if not giving_way.get(name, True):
            path = ("preemption", "arbiter", "partitions", index)
            yield Complaint(path, f"{name} is not preemptable, so the arbiter must not end its jobs", "remove it")


def ensure_accounts_rule_is_single(site: Site) -> Iterator[Complaint]:
    """A partition has `allow_accounts` or `deny_accounts`, not both: Slurm ignores the second."""
    for path, partition in site.partitions():
        if partition.allow_accounts and partition.deny_accounts:
            yield Complaint((*path, "deny_accounts"), "has no effect beside allow_accounts")


def ensure_lab_accounts_are_allowed(site: Site) -> Iterator[Complaint]:
    """allow_lab_accounts extends allow_accounts; alone it would exclude all other accounts."""
    for path, partition in site.partitions():
        if partition.allow_lab_accounts and not partition.allow_accounts:
            message = f"{partition.name} has no allow_accounts, so all accounts may submit there already"
            yield Complaint((*path, "allow_lab_accounts"), message, "remove it")


def ensure_partitions_have_compute_nodes_only(site: Site) -> Iterator[Complaint]:
    """Partitions contain compute nodes only."""
    for path, partition in site.partitions():
        try:
            chosen = site.node_table.select(partition.nodes)
        except ValueError:
            continue
        for name in chosen:
            if "compute" not in site.node_table.by_name[name].entry.roles:
                yield Complaint((*path, "nodes"), f"{name} is not a compute node")


def ensure_testbed_can_run(site: Site) -> Iterator[Complaint]:
    """The testbed's nodes include the controller, the database and a compute node; its machines exist."""
    testbed = site.inventory.testbed
    if testbed is None:
        return
    for key, names in (("disks", testbed.disks), ("threads", testbed.threads)):
        for name in names:
            if site.node_table.whole and name not in site.node_table.by_name:
                yield Complaint(("testbed", key, name), f"there is no node {name!r}")
    try:
        chosen = set(site.node_table.select(testbed.nodes))
    except ValueError:
        return
    for role in ("controller", "database", "compute"):
        if not any(role in node.entry.roles for node in site.node_table.nodes if node.name in chosen):
            yield Complaint(("testbed", "nodes"), f"none of these nodes has the role {role}")
