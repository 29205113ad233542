"""Check time limits of jobs without --time, which Slurm takes from the first of several places that sets one."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import LabRights
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.times import (
    default_time,
    times_without_request,
    walls_of_accounts,
    walls_of_default_qos,
    walls_of_other_qos,
)
from gpupool.cluster.schema.labs import Partition
from gpupool.cluster.units import format_duration


def ensure_default_times_fit(site: Site) -> Iterator[Complaint]:
    """The time limit of a job without --time is within the limits of its partition, QoS and account."""
    scheduler = site.inventory.scheduler
    reported: set[tuple[Path, str]] = set()
    for path, partition in site.partitions():
        default = default_time(partition, scheduler)
        if default is None:
            continue
        here: Path = ("scheduler", "default_time")
        if partition.default_time is not None:
            here = (*path, "default_time")
        for phrase, wall in _walls(site, partition):
            if default > wall and (here, phrase) not in reported:
                reported.add((here, phrase))
                message = f"is {format_duration(default)}, but {phrase} {format_duration(wall)}"
                hint = f"at most {format_duration(wall)}: jobs without --time would be refused"
                yield Complaint(here, message, hint)
        for name, wall in walls_of_other_qos(site, partition):
            if default > wall and (here, name) not in reported:
                reported.add((here, name))
                message = f"is {format_duration(default)}, but QoS {name} has a wall of {format_duration(wall)}"
                yield Complaint(here, message, "its jobs without --time will be refused here", "warning")


def _walls(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    name = partition.name
    if partition.max_time is not None:
        yield f"the max_time of {name} is", partition.max_time
    if partition.limits.per_job.wall is not None:
        yield f"limits.per_job.wall of {name} is", partition.limits.per_job.wall
    for qos, wall in walls_of_default_qos(site, partition):
        yield f"the default QoS {qos} has a wall of", wall
    for account, wall in walls_of_accounts(site, partition):
        yield f"the account {account} has a wall of", wall


def ensure_default_times_fit_limits_in_minutes(site: Site) -> Iterator[Complaint]:
    """A job without --time gets at most the minutes that its account has in total."""
    for index, account in enumerate(site.inventory.accounts):
        for kind in ("group_minutes", "per_user_minutes"):
            for key, most in getattr(account.limits, kind):
                if key not in ("gpu", "cpu", "nodes") or not most:
                    continue
                times = times_without_request(site, account.name, gpus=key == "gpu")
                time, name = max(times, default=(0, ""))
                if time > most * 60:
                    message = f"is {most}, but a job without --time gets {format_duration(time)} in partition {name}"
                    hint = "it would be refused: raise the limit, or set default_time"
                    yield Complaint(("accounts", index, "limits", kind, key), message, hint, "warning")


def ensure_default_time_fits(site: Site) -> Iterator[Complaint]:
    """No wall of a QoS or account is above a partition's max_time: jobs without --time would wait there forever.

    The submit plugin gives a job the partition's time where its QoS has a longer wall.
    """
    # In Slurm 22.05, 24.11 and 26.05, a partition's default has priority over the walls of QoS and accounts.
    scheduler = site.inventory.scheduler
    without = [(path, entry) for path, entry in site.partitions() if default_time(entry, scheduler) is None]
    for name, qos in site.inventory.qos.items() if "submit" in site.inventory.slurm.left else ():
        wall = qos.wall
        if wall is None:
            continue
        shorter = [
            f"the max_time of {partition.name} is {format_duration(partition.max_time)}"
            for _, partition in without
            if name in site.default_qos_in(partition)
            and partition.allows_qos(name)
            and partition.max_time is not None
            and partition.max_time < wall
        ]
        if shorter:
            message = f"the default QoS {name} has a wall of {format_duration(wall)}, but {listed(shorter)}"
            hint = "jobs without --time could never run there: remove it, or set default_time of these partitions"
            yield Complaint(("qos", name, "max_wall"), message, hint)
    for index, account in enumerate(site.inventory.accounts):
        wall = account.limits.per_job.wall
        for _, partition in without if wall else ():
            if wall and partition.max_time and partition.max_time < wall and site.admits(partition, account.name):
                message = f"{format_duration(wall)} is longer than the max_time of partition {partition.name}"
                hint = "jobs without --time could never run there: remove it, or set its default_time"
                yield Complaint(("accounts", index, "limits", "per_job", "wall"), message, hint)
                break
    for path, partition in without:
        wall = partition.limits.per_job.wall
        if wall and partition.max_time and wall != partition.max_time:
            message = f"differs from max_time, which is {format_duration(partition.max_time)}"
            yield Complaint((*path, "limits", "per_job", "wall"), message, "jobs without --time could never run")


def ensure_jobs_with_gpus_have_a_time_limit(site: Site) -> Iterator[Complaint]:
    """A partition with GPUs has a max_time, or `infinite`, where neither preemption nor a lab's cap limits jobs."""
    lab_rights, qos = LabRights.of(site), site.inventory.qos
    if not lab_rights.computable or any(account.budget is not None for account in site.inventory.accounts):
        return  # a budget needs a max_time in any case
    of_labs = frozenset[str]().union(*(lab_rights.nodes_of(owner) for owner in site.ownership.owners))
    without: list[tuple[Path, str]] = []
    for path, partition in site.partitions():
        decided = "max_time" in partition.model_fields_set or partition.limits.per_job.wall is not None
        # for nodes where labs own something, ownership.py says whose jobs could hold them
        if decided or site.is_preempted(partition) or site.nodes_of(partition.nodes) & of_labs:
            continue
        defaults = [qos[name] for name in site.default_qos_in(partition) if name in qos]
        if any(entry.wall is None for entry in defaults) and site.gpus_of(frozenset({partition.nodes})):
            without.append((path, partition.name))
    if without:
        message = f"is not set in {listed([name for _, name in without])}: a job could hold GPUs there forever"
        yield Complaint((*without[0][0], "max_time"), message, "set it; infinite, if that is meant", "warning")
