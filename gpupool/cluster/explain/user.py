"""The rights of a user: accounts with their limits, QoS, partitions, and nodes to log in to."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

from gpupool.cluster.accounts import User
from gpupool.cluster.complaints import Path, Place
from gpupool.cluster.explain.values import Value, cap_of, entry_values, listed, nearest
from gpupool.cluster.logins import entry
from gpupool.cluster.model import Cluster
from gpupool.cluster.partition import Partition
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_duration
from gpupool.slurm.hostlists import fold
from gpupool.wording import counted

Places = Mapping[Path, Place]
_LOGINS = {
    "all": ("always", "compute_ssh"),
    "job": ("with a job there", "compute_ssh"),
    "admins": ("never", "controller_ssh"),
}


def of_user(cluster: Cluster, site: Site, places: Places, name: str, today: date | None = None) -> Iterator[Value]:
    """Yield a user's entry, then the accounts, QoS, partitions and logins of a day (default: today)."""
    user, day = cluster.users[name], today or datetime.now(UTC).date()
    index = next(index for index, entry in enumerate(site.inventory.users) if entry.name == name)
    path: Path = ("users", index)
    keys = counted(len(user.entry.keys), "key")
    yield from entry_values(user.entry, path, places, {"keys": keys})
    if user.ended_on(day):
        yield Value("access", f"ended on {user.entry.until}: no login, no new job", places.get((*path, "until")))
        return
    for account in user.accounts:
        use = "default" if account == user.account else f"with --account={account}"
        yield Value(f"account.{account}", use, nearest((*path, "accounts"), places))
        yield from _limits(cluster, site, places, account)
    yield from _qos(cluster, site, user, day, path, places)
    for at, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if each in cluster.partitions:
                yield _partition(cluster, cluster.partitions[each], user, day, at, places)
    yield from _logins(cluster, places)


def _limits(cluster: Cluster, site: Site, places: Places, name: str) -> Iterator[Value]:
    """Yield the limits of an account and of the accounts above it."""
    at = {account.name: index for index, account in enumerate(site.inventory.accounts)}
    for each in cluster.with_parents(name):
        account = cluster.accounts[each]
        path: Path = ("accounts", at[each])
        limits = entry_values(account.limits, (*path, "limits"), places, {}, "limits.")
        for value in (*cap_of(account, path, places), *(value for value in limits if value.place)):
            yield replace(value, key=f"account.{each}.{value.key}")


def _qos(cluster: Cluster, site: Site, user: User, day: date, path: Path, places: Places) -> Iterator[Value]:
    """Yield each QoS: the accounts in which the user may use it, with its limits, or the reason why not."""
    by_account = {account: user.qos_on(day, account) for account in user.accounts}
    for name, qos in cluster.qos.items():
        here = site.as_written(("qos", name))
        accounts = [account for account, its in by_account.items() if name in its]
        if accounts:
            limits = [value for value in entry_values(qos.limits, (*here, "limits"), places, {}) if value.place]
            more = [
                *([f"max_wall {format_duration(qos.wall)}"] if qos.wall else []),
                *(f"{v.key} {v.value}" for v in limits),
            ]
            where = "" if len(accounts) == len(by_account) else f" in {listed(accounts)}"
            yield Value(f"qos.{name}", f"yes{where}{f' ({listed(more)})' if more else ''}", nearest(here, places))
        else:
            ended = [grant for grant in user.entry.grants if grant.qos == name]
            why = f"the grant ended on {ended[-1].until}" if ended else "neither the user nor an account has it"
            place = nearest((*path, "grants"), places) if ended else nearest((*here, "everybody"), places)
            yield Value(f"qos.{name}", f"no: {why}", place)


def _partition(cluster: Cluster, partition: Partition, user: User, day: date, at: Path, places: Places) -> Value:
    """Return whether the user's jobs may run in a partition, with the accounts that the user needs, or the reason."""
    entry, key = partition.entry, f"partition.{partition.name}"
    if not cluster.admits_user(partition, user):
        if entry.is_assigned and partition.name not in user.entry.partitions:
            return Value(key, "no: the user's `partitions` do not list it", nearest((*at, "users"), places))
        return Value(key, f"no: only groups {listed(entry.allow_groups)}", nearest((*at, "allow_groups"), places))
    admitted = [account for account in user.accounts if cluster.admits(partition, account)]
    if not admitted:
        closed = "allow_accounts" if partition.allow_accounts else "deny_accounts"
        names = listed(getattr(partition, closed))
        why = f"only accounts {names}" if partition.allow_accounts else f"not accounts {names}"
        return Value(key, f"no: {why}", nearest((*at, closed), places))
    usable = [account for account in admitted if any(map(entry.allows_qos, user.qos_on(day, account)))]
    if not usable:
        return Value(key, f"no: only with QoS {listed(entry.qos)}", nearest((*at, "qos"), places))
    accounts = "" if len(usable) == len(user.accounts) else f" with account {listed(usable)}"
    qos = f" and QoS {listed(entry.qos)}" if entry.qos else ""
    return Value(key, f"yes{accounts}{qos}", nearest((*at, "allow_accounts"), places))


def _logins(cluster: Cluster, places: Places) -> Iterator[Value]:
    """Yield the nodes where users may log in always, with a job, and never."""
    nodes: dict[str, list[str]] = {}
    for node in cluster.nodes.values():
        if node.managed:
            nodes.setdefault(entry(cluster, node), []).append(node.name)
    for kind, (text, key) in _LOGINS.items():
        if kind in nodes:
            yield Value(f"login.{text}", fold(nodes[kind]), places.get(("access", key)))
