"""Check reservations: their names exist, they can be created and used, and labs lose nothing without a warning."""

from collections.abc import Iterator

from gpupool.cluster.checks.names import unknown
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import ANY, LabRights
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.units import format_duration
from gpupool.slurm.releases import first_tested, has

_OWN = "gpupool_"  # prefix of reservations that `maintain` and `onboard` create
_DAY, _WEEK, _FRIDAY = 86400, 604800, 4
_SELDOM = {"day": _DAY, "weekday": _DAY, "weekend": _DAY, "week": _WEEK}


def ensure_reservations_name_existing_things(site: Site) -> Iterator[Complaint]:
    """Accounts, users, partitions and GPU types of reservations exist; each reservation has a different name."""
    inventory = site.inventory
    users = {user.name: user for user in inventory.users}
    partitions = _partitions(site)
    names: dict[str, int] = {}
    for index, reservation in enumerate(inventory.reservations):
        path: Path = ("reservations", index)
        if reservation.name.startswith(_OWN):
            message = f"names that begin with {_OWN} are for gpupool's own reservations during maintenance"
            yield Complaint((*path, "name"), message, "choose another name")
        if names.setdefault(reservation.name, index) != index:
            message = (
                f"the reservation {reservation.name} is defined twice; first in reservations[{names[reservation.name]}]"
            )
            yield Complaint((*path, "name"), message)
        for kind, key, named, known in (
            ("account", "accounts", reservation.accounts, site.account_names),
            ("user", "users", reservation.users, users),
            ("GPU type", "gpus", reservation.gpus, inventory.gpu_types),
        ):
            for place, name in enumerate(named):
                if name not in known:
                    yield unknown((*path, key, name if key == "gpus" else place), kind, name, known)
        if reservation.partition and reservation.partition not in partitions:
            yield unknown((*path, "partition"), "partition", reservation.partition, partitions)
        for place, name in enumerate(reservation.users if reservation.accounts else ()):
            its = (
                {users[name].account, *users[name].accounts, *_everybodys(site)}
                if name in users
                else {*reservation.accounts}
            )
            if others := [account for account in reservation.accounts if account not in its]:
                message = f"{name} is not in {listed(others)}, and each of its users must be in each of its accounts"
                yield Complaint((*path, "users", place), message, f"remove {name}, or accounts")


def ensure_reservations_can_be_created(site: Site) -> Iterator[Complaint]:
    """A reservation sets exactly one of nodes, node_count, gpu and gpus, its users, and times that Slurm accepts."""
    for index, reservation in enumerate(site.inventory.reservations):
        path: Path = ("reservations", index)
        ways = {
            "nodes": reservation.nodes,
            "node_count": reservation.node_count,
            "gpu": reservation.gpu,
            "gpus": reservation.gpus,
        }
        named = [key for key, value in ways.items() if value]
        if len(named) != 1:
            message = (
                f"{reservation.name} reserves {listed(named, 4)}"
                if named
                else f"{reservation.name} has nothing to reserve"
            )
            yield Complaint(path, message, "set one of nodes, node_count, gpu and gpus")
        elif named != ["nodes"] and not reservation.partition:
            yield Complaint(path, f"{reservation.name} needs a partition for its {named[0]}", "set partition")
        if (reservation.gpu or reservation.gpus) and not has(site.inventory.slurm.version, "reservations of gres"):
            needed = first_tested("reservations of gres")
            message = f"Slurm {site.inventory.slurm.version} can only reserve whole nodes; GPUs need {needed} or later"
            yield Complaint((*path, named[-1]), message, "set nodes, or node_count")
        if not (reservation.accounts or reservation.users or reservation.maintenance):
            message = f"no account and no user may use {reservation.name}"
            yield Complaint(path, message, "add accounts or users, or maintenance: true")
        yield from _times(path, reservation)


def _times(path: Path, reservation: Reservation) -> Iterator[Complaint]:
    for key, seconds in (("duration", reservation.duration), ("free_after", reservation.free_after)):
        if seconds and seconds % 60:
            yield Complaint((*path, key), f"{format_duration(seconds)}: Slurm counts whole minutes here")
    if reservation.every and reservation.duration > _SELDOM[reservation.every]:
        message = f"{format_duration(reservation.duration)} is longer than the time until it recurs"
        yield Complaint((*path, "duration"), message)
    weekend = reservation.start.weekday() > _FRIDAY
    if (reservation.every == "weekday" and weekend) or (reservation.every == "weekend" and not weekend):
        yield Complaint(
            (*path, "start"),
            f"{reservation.start:%Y-%m-%d} is a {reservation.start:%A}, but `every` is {reservation.every}",
        )


def ensure_reservations_can_be_used(site: Site) -> Iterator[Complaint]:
    """A reservation has compute nodes only, no more than its partition has, and partitions that admit its accounts."""
    partitions = _partitions(site)
    by_name = site.node_table.by_name
    for index, reservation in enumerate(site.inventory.reservations):
        path: Path = ("reservations", index)
        nodes, inside = site.nodes_of(reservation.nodes), partitions.get(reservation.partition or "")
        reachable = site.nodes_of(inside.nodes) if inside else nodes
        for name in sorted(nodes):
            if "compute" not in by_name[name].entry.roles:
                yield Complaint((*path, "nodes"), f"{name} is not a compute node")
        if inside and (outside := sorted(nodes - reachable)):
            yield Complaint((*path, "nodes"), f"{listed(outside)}: not in partition {reservation.partition}")
        if reservation.node_count and inside and reservation.node_count > len(reachable):
            yield Complaint((*path, "node_count"), f"partition {reservation.partition} has {len(reachable)} nodes")
        for gpu, count in ((ANY, reservation.gpu or 0), *reservation.gpus.items()):
            have = sum(_gpus(site, name, gpu) for name in reachable)
            if inside and count > have:
                key: Path = ("gpu",) if gpu == ANY else ("gpus", gpu)
                yield Complaint((*path, *key), f"partition {reservation.partition} has {have}")
        for place, account in enumerate(reservation.accounts if reachable else ()):
            open_to = [each for _, each in site.partitions() if site.admits(each, account)]
            within = [each for each in open_to if site.nodes_of(each.nodes) & reachable and inside in (None, each)]
            if account in site.account_names and not within:
                where = f"partition {reservation.partition}" if inside else "a partition with its nodes"
                message = f"jobs of {account} could not run in it: they are not admitted to {where}"
                yield Complaint((*path, "accounts", place), message)


def ensure_labs_know_what_reservations_take(site: Site) -> Iterator[Complaint]:
    """Warn if a reservation takes nodes or GPUs that belong to labs outside its own accounts."""
    lab_rights, ownership = LabRights.of(site), site.ownership
    if not lab_rights.computable:
        return
    partitions = _partitions(site)
    users = {user.name: user.account for user in site.inventory.users}
    free = max(
        0, lab_rights.amount(lab_rights.pool, ANY) - sum(owner.gpus for owner in ownership.owners if owner.shares)
    )
    for index, reservation in enumerate(site.inventory.reservations):
        if reservation.maintenance:
            continue  # nodes under maintenance run no jobs
        path: Path = ("reservations", index)
        inside = partitions.get(reservation.partition or "")
        chosen = site.nodes_of(reservation.nodes or (inside.nodes if inside else None))
        accounts = {
            *reservation.accounts,
            *(users.get(name, "") for name in (() if reservation.accounts else reservation.users)),
        }
        labs = {name for account in accounts for name in site.with_parents(account)}
        if reservation.nodes:
            others = sorted(
                name for name in chosen & ownership.of_nodes.keys() if ownership.of_nodes[name].name not in labs
            )
            if others:
                whose = listed(sorted({ownership.of_nodes[name].name for name in others}))
                message = f"takes {listed(others)} from {whose}, every time and for its whole duration"
                yield Complaint(
                    (*path, "nodes"), message, "leave these nodes out if their owners must always have them", "warning"
                )
        taken = _taken(site, reservation, chosen & lab_rights.pool)
        own = sum(owner.gpus for owner in ownership.owners if owner.shares and owner.name in labs)
        if taken > own + free and any(o.shares and o.gpus and o.name not in labs for o in ownership.owners):
            message = (
                f"takes {taken} GPUs: its accounts own {own}, and {free} have no owner; while it lasts, labs may lack "
                f"{taken - own - free} that they own"
            )
            yield Complaint(path, message, "reserve fewer, or tell the labs", "warning")


def _taken(site: Site, reservation: Reservation, nodes: frozenset[str]) -> int:
    """Return the maximum number of GPUs that a reservation takes of these nodes."""
    each = sorted((_gpus(site, name, ANY) for name in nodes), reverse=True)
    if reservation.node_count:
        return sum(each[: reservation.node_count])
    if reservation.gpu or reservation.gpus:
        return min(reservation.gpu or sum(reservation.gpus.values()), sum(each))
    return sum(each)


def _gpus(site: Site, node: str, gpu: str) -> int:
    gpus = site.node_table.by_name[node].entry.gpus
    return sum(gpus.values()) if gpu == ANY else gpus.get(gpu, 0)


def _everybodys(site: Site) -> list[str]:
    return [account.name for account in site.inventory.accounts if account.members == "all"]


def _partitions(site: Site) -> dict[str, Partition]:
    return {name: entry for _, entry in site.partitions() for name, _ in site.partition_names(entry)}
