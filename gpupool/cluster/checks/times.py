"""Time limits of jobs that ask for none, which Slurm takes from the first of several places that says one."""

from collections.abc import Iterator

from gpupool.cluster.checks.site import Site
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.schema.labs import Partition
from gpupool.cluster.schema.scheduling import Scheduler
from gpupool.cluster.units import format_duration


def default_time(partition: Partition, scheduler: Scheduler) -> int | None:
    """Return the time limit of a partition's jobs without --time, in seconds; None where it is max_time."""
    if partition.default_time is not None or scheduler.default_time is None:
        return partition.default_time
    # the whole cluster's is cut off where a partition is shorter
    return min(scheduler.default_time, partition.max_time or scheduler.default_time)


def ensure_default_times_fit(site: Site) -> Iterator[Complaint]:
    """A job without --time gets no more than its partition, its QoS and its account let it have."""
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
        for key, wall in _other_walls(site, partition):
            if default > wall and (here, key) not in reported:
                reported.add((here, key))
                message = f"is {format_duration(default)}, but QoS {key} has a wall of {format_duration(wall)}"
                yield Complaint(here, message, "its jobs without --time will be refused here", "warning")


def ensure_default_times_fit_limits_in_minutes(site: Site) -> Iterator[Complaint]:
    """A job without --time gets no more than the minutes that its account has in all."""
    for index, account in enumerate(site.inventory.accounts):
        for kind in ("group_minutes", "per_user_minutes"):
            for key, most in getattr(account.limits, kind):
                if key not in ("gpu", "cpu", "nodes") or not most:
                    continue
                long = [(time, name) for name, time in _times(site, account.name, key) if time > most * 60]
                if long:
                    time, name = max(long)
                    message = f"is {most}, but a job without --time gets {format_duration(time)} in partition {name}"
                    hint = "it would be refused: raise the limit, or set default_time"
                    yield Complaint(("accounts", index, "limits", kind, key), message, hint, "warning")


def _times(site: Site, account: str, key: str) -> Iterator[tuple[str, int]]:
    for _, partition in site.partitions():
        time = default_time(partition, site.inventory.scheduler) or partition.max_time
        has = key != "gpu" or site.gpus_of(frozenset({partition.nodes}))
        if time and has and site.admits(partition, account):
            yield partition.name, time


def _walls(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    name = partition.name
    if partition.max_time is not None:
        yield f"the max_time of {name} is", partition.max_time
    if partition.limits.per_job.wall is not None:
        yield f"limits.per_job.wall of {name} is", partition.limits.per_job.wall
    defaults = site.default_qos_in(partition)
    for key, qos in site.inventory.qos.items():
        wall = qos.limits.per_job.wall if qos.max_wall is None else qos.max_wall
        if wall is not None and key in defaults and (not partition.qos or key in partition.qos):
            yield f"the default QoS {key} has a wall of", wall
    for account in site.inventory.accounts:
        wall = account.limits.per_job.wall
        if wall is not None and site.admits(partition, account.name):
            yield f"the account {account.name} has a wall of", wall


def _other_walls(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    defaults = site.default_qos_in(partition)
    for key, qos in site.inventory.qos.items():
        wall = qos.limits.per_job.wall if qos.max_wall is None else qos.max_wall
        if wall is not None and key not in defaults and (not partition.qos or key in partition.qos):
            yield key, wall


def ensure_default_time_fits(site: Site) -> Iterator[Complaint]:
    """A job without --time gets the wall of its QoS or account: where its partition is shorter, it waits for ever."""
    # a partition's own default comes before the walls of QoS and accounts: tried on 22.05, 24.11 and 26.05
    own = [(path, it) for path, it in site.partitions() if default_time(it, site.inventory.scheduler) is None]
    for name, qos in site.inventory.qos.items():
        wall = qos.limits.per_job.wall if qos.max_wall is None else qos.max_wall
        if wall is None:
            continue
        partitions = [
            partition
            for _, partition in own
            if name in site.default_qos_in(partition) and (not partition.qos or name in partition.qos)
        ]
        if len({it.max_time for it in partitions}) > 1 or any(it.max_time and it.max_time < wall for it in partitions):
            message = (
                f"the default QoS {name} has a wall of {format_duration(wall)}, but some partitions have a shorter "
                "max_time"
            )
            hint = "jobs without --time could never run there: remove it, or set default_time of these partitions"
            yield Complaint(("qos", name, "max_wall"), message, hint)
    for index, account in enumerate(site.inventory.accounts):
        wall = account.limits.per_job.wall
        for _, partition in own if wall else ():
            if wall and partition.max_time and partition.max_time < wall and site.admits(partition, account.name):
                message = f"{format_duration(wall)} is longer than the max_time of partition {partition.name}"
                hint = "jobs without --time could never run there: remove it, or set its default_time"
                yield Complaint(("accounts", index, "limits", "per_job", "wall"), message, hint)
                break
    for path, partition in own:
        wall = partition.limits.per_job.wall
        if wall and partition.max_time and wall != partition.max_time:
            message = f"differs from max_time, which is {format_duration(partition.max_time)}"
            yield Complaint((*path, "limits", "per_job", "wall"), message, "jobs without --time could never run")
