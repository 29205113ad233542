"""Check for partitions and defaults with which no job could ever run."""

from collections.abc import Iterator
from datetime import date, timedelta

from gpupool.cluster import accounting_file
from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition, User
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
        theirs &= inventory.qos.keys()  # without a default QoS another check complains
        if refused := sorted(theirs - set(partition.qos)):
            several = len(refused) > 1
            are = "are default QoS" if several else "is a default QoS"
            message = f"{' and '.join(refused)} may not be used here, in the default partition, and {are}"
            hint = f"jobs without --partition and --qos would be refused: add {'them' if several else 'it'}"
            if set(refused) & set(site.own_qos.values()):
                accounts, its = ("accounts", "their") if several else ("account", "its")
                hint += f", or remove the {accounts} from {its} default_for"
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
        limits = {kind: getattr(partition.limits, kind).mem for kind in ("per_job", "per_user", "group")}
        if all(most is None for most in limits.values()):
            continue
        for key, each in _default_memory(site, partition):
            for kind, most in limits.items():
                if most is not None and most < each:
                    message = f"{format_size(most)} is less than scheduler.default_memory.{key}, {format_size(each)}"
                    hint = "jobs without --mem could never run here: raise it"
                    yield Complaint((*path, "limits", kind, "mem"), message, hint)


def _default_memory(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    """Yield each kind of default memory that jobs of a partition can have, in MiB; of several, the largest."""
    default, by_name = site.inventory.scheduler.default_memory, site.node_table.by_name
    names = site.nodes_of(partition.nodes)
    gpus = {gpu for name in names for gpu, count in by_name[name].entry.gpus.items() if count}
    for key, sizes in (
        ("per_gpu", default.of_gpus(gpus)),
        ("per_cpu", [default.per_cpu]),
        ("per_node", [default.per_node]),
    ):
        if sizes and (most := sizes[-1]) is not None:
            yield key, most


def ensure_a_user_may_submit(site: Site) -> Iterator[Complaint]:
    """There are users: slurmctld refuses jobs of any user that is not in slurmdbd (AccountingStorageEnforce).

    Without exact accounting, slurmdbd may have users that the inventory does not name.
    """
    inventory = site.inventory
    is_known = inventory.slurm.exact_accounting and "enforce" not in inventory.slurm.left
    if is_known and not inventory.users and inventory.directory is None and not accounting_file.users(site.attached):
        yield Complaint(
            ("users",), "there are none, so no job can be submitted", "add `users:` or `directory:`", "warning"
        )


def ensure_users_of_admitted_accounts_have_a_qos(site: Site) -> Iterator[Complaint]:
    """An account that a partition names has a user with a QoS that the partition allows; a grant is enough."""
    inventory, members = site.inventory, _members(site)
    everybodys = {name for name, qos in inventory.qos.items() if qos.everybody and not qos.default_for}
    for path, partition in site.partitions():
        allowed = set(partition.qos)
        if not partition.allow_accounts or not allowed or not allowed <= inventory.qos.keys() or allowed & everybodys:
            continue
        without, having = [], False
        for account in site.admitted(partition):
            own = {*account.qos, site.own_qos.get(account.name, "")}
            users = members[account.name]
            has = any(allowed & {*own, *user.qos, *(grant.qos for grant in user.grants)} for user in users)
            having = having or has
            if users and not has and not account.members_from:
                without.append(account.name)
        if without and having:
            message = (
                f"no user of {listed(without)} has {' or '.join(partition.qos)}, so none of their jobs can run here"
            )
            hint = "add it to `qos` of the account or of its users, or do not allow the account"
            yield Complaint((*path, "allow_accounts"), message, hint, "warning")


def ensure_the_default_partition_admits_default_accounts(site: Site) -> Iterator[Complaint]:
    """A job without --partition and --account is not refused: the default partition admits each user's account."""
    for path, partition in site.partitions():
        names = [name for name, _ in site.partition_names(partition)]
        if site.inventory.scheduler.default_partition not in names or partition.for_each:
            continue
        admitted = {account.name for account in site.admitted(partition)}
        users = [user for user in site.inventory.users if user.account not in admitted]
        if users and all(user.account in site.account_names for user in users):
            accounts = list(dict.fromkeys(user.account for user in users))
            message = f"{listed(accounts)} may not submit here, and {_counted(users)} as default account"
            hint = (
                "jobs without --partition and --account are refused: admit it, or set scheduler.default_partition: fit"
            )
            yield Complaint((*path, _admission(partition.allow_accounts)), message, hint, "warning")


def _admission(allowed: tuple[str, ...]) -> str:
    return "allow_accounts" if allowed else "deny_accounts"


def _counted(users: list[User]) -> str:
    more = len(users) - 1
    return f"{users[0].name} has it" if not more else f"{users[0].name} and {more} other user{'s' * (more > 1)} have it"


def ensure_preemptable_partitions_have_users_without_cap(site: Site) -> Iterator[Complaint]:
    """A preemptable partition with GPUs admits an account without a cap: a lab's cap counts its preemptable jobs."""
    inventory, members = site.inventory, _members(site)
    labs = {owner.name for owner in site.ownership.owners if owner.shares}  # an owner of nodes has no cap
    arbiter = inventory.preemption.arbiter
    helped = arbiter.partitions if arbiter and arbiter.enabled else ()
    for path, partition in site.partitions():
        names = {name for name, _ in site.partition_names(partition)}
        if not site.is_preempted(partition) or names & set(helped) or not site.gpus_of(frozenset({partition.nodes})):
            continue
        used = [account for account in site.admitted(partition) if members[account.name] or account.members_from]
        if used and all(labs & {*site.with_parents(account.name)} for account in used):
            message = (
                f"only labs ({listed([account.name for account in used])}) may submit here, and their caps count here"
            )
            hint = "no job runs beyond the caps: admit an account without a cap, such as one of kind shared"
            yield Complaint(path, message, hint, "warning")


def ensure_reservations_are_not_over(site: Site) -> Iterator[Complaint]:
    """Warn of a reservation that does not recur and whose last day has passed."""
    for index, reservation in enumerate(site.inventory.reservations):
        end = (reservation.start + timedelta(seconds=reservation.duration)).date()
        if not reservation.every and end < date.today():
            message = f"{reservation.name} was over on {end}"
            yield Complaint(("reservations", index), message, "remove the entry, or set a later start", "warning")


def ensure_an_array_leaves_room_for_other_jobs(site: Site) -> Iterator[Complaint]:
    """The largest job array does not fill slurmctld's table of jobs."""
    scheduler, parameters = site.inventory.scheduler, site.inventory.slurm.parameters
    given = {name.lower(): (name, int(value)) for name, value in parameters.items() if value.isdecimal()}
    name, largest = given.get("maxarraysize", ("", 0))
    _, most = given.get("maxjobcount", ("", scheduler.most_jobs))
    if largest >= most:
        message = (
            f"one array of {largest} tasks would fill the table of jobs (MaxJobCount is {most}): no user could submit"
        )
        yield Complaint(("slurm", "parameters", name), message, "lower it, or raise MaxJobCount", "warning")


def _members(site: Site) -> dict[str, list[User]]:
    """Return the users of each account."""
    users = site.inventory.users
    members: dict[str, list[User]] = {
        account.name: list(users) if account.is_everybodys else [] for account in site.inventory.accounts
    }
    for user in users:
        for name in dict.fromkeys((user.account, *user.accounts)):
            members.setdefault(name, []).append(user)
    return members
