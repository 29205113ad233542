"""Check for partitions and defaults with which no job could ever run."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_size


def ensure_a_user_has_the_qos_of_each_partition(site: Site) -> Iterator[Complaint]:
    """At least one user has a QoS that the partition allows; a grant is enough."""
    inventory = site.inventory
    had = {name for user in inventory.users for name in (*user.qos, *(grant.qos for grant in user.grants))}
    accounts = {name for user in inventory.users for name in (user.account, *user.accounts)} | {
        account.name for account in inventory.accounts if account.members == "all"
    }
    had |= {name for account in inventory.accounts if account.name in accounts for name in account.qos}
    for name, qos in inventory.qos.items():
        if (qos.everybody and not qos.default_for) or accounts & set(qos.default_for):
            had.add(name)
    for path, partition in site.partitions():
        known = partition.qos and set(partition.qos) <= inventory.qos.keys()
        if inventory.users and known and not had & set(partition.qos):
            message = f"no user has {' or '.join(partition.qos)}, so no job can run here"
            yield Complaint((*path, "qos"), message, "list it in `users`, or allow another QoS here", "warning")


def ensure_the_default_partition_allows_the_default_qos(site: Site) -> Iterator[Complaint]:
    """A job without --partition and --qos is not refused: the default partition allows the default QoS."""
    inventory = site.inventory
    for path, partition in site.partitions():
        names = [name for name, _ in site.partition_names(partition)]
        known = partition.qos and set(partition.qos) <= inventory.qos.keys()
        if not known or inventory.scheduler.default_partition not in names:
            continue
        theirs = {site.default_qos(partition, account.name) for account in site.admitted(partition)}
        if refused := sorted(theirs - set(partition.qos)):
            message = f"{' and '.join(refused)} may not be used here, in the default partition, and is a default QoS"
            hint = "jobs without --partition and --qos would be refused: add it"
            yield Complaint((*path, "qos"), message, hint, "warning" if theirs & set(partition.qos) else "error")


def ensure_users_have_the_default_qos_of_partitions(site: Site) -> Iterator[Complaint]:
    """A job without --qos is not refused because of the default QoS of its partition."""
    inventory = site.inventory
    of_accounts = {account.name: set(account.qos) for account in inventory.accounts}
    shared = [account.name for account in inventory.accounts if account.members == "all"]
    for path, partition in site.partitions():
        name, here = partition.default_qos, (*path, "default_qos")
        qos = inventory.qos.get(name or "")
        if not name or not qos:
            continue
        if partition.qos and name not in partition.qos:
            yield Complaint(here, f"{name} is not in `qos` of this partition", "add it there")
        if qos.everybody and not qos.default_for:
            continue
        admitted = [account.name for account in site.admitted(partition)]
        lacking = [account for account in admitted if account not in site.own_qos and name not in of_accounts[account]]
        without = (
            f"{user.name} ({account})"
            for user in inventory.users
            for account in dict.fromkeys((user.account, *user.accounts, *shared))
            if name not in user.qos and account in lacking
        )
        if who := next(without, None):
            message = f"{who} may submit here and does not have {name}: jobs without --qos would be refused"
            yield Complaint(here, message, f"set `everybody: true` for {name}, or add it to `qos` of the account")


def ensure_default_memory_fits_the_limits_of_partitions(site: Site) -> Iterator[Complaint]:
    """The default memory of a job is within the limits per job, per user and per group of its partition."""
    for path, partition in site.partitions():
        for key, each in site.inventory.scheduler.default_memory:
            if each is None or (key == "per_gpu" and not site.gpus_of(frozenset({partition.nodes}))):
                continue
            for kind in ("per_job", "per_user", "group"):
                most = getattr(partition.limits, kind).mem
                if most is not None and most < each:
                    message = f"{format_size(most)} is less than scheduler.default_memory.{key}, {format_size(each)}"
                    hint = "jobs without --mem could never run here: raise it"
                    yield Complaint((*path, "limits", kind, "mem"), message, hint)


def ensure_a_user_may_submit(site: Site) -> Iterator[Complaint]:
    """There are users: slurmctld refuses jobs of any user that is not in slurmdbd (AccountingStorageEnforce)."""
    if not site.inventory.users and site.inventory.directory is None:
        yield Complaint(
            ("users",), "there are none, so no job can be submitted", "add `users:` or `directory:`", "warning"
        )
