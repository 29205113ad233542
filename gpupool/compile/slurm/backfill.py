"""How often backfill runs, from the number of nodes, and how far ahead it plans, from the longest time limit."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.slurm.times import minutes

_DEFAULT, _MOST = 1440, 43_200  # minutes; slurm.conf(5), SchedulerParameters, bf_window

_SHORTEST = 2  # seconds from the end of a cycle to the next
_SLURMS = 30  # seconds, the default of bf_interval
# Backfill takes 25 to 50 us for each node and job (measured on twins of 36 and 240 nodes, docs/preemption.md), and
# looks at 500 jobs (bf_max_job_test), so up to 25 ms for each node; a longer cycle is cut off at twice as much.
_CYCLE_MS = 25


def cycle(cluster: Cluster) -> Iterator[str]:
    """Yield bf_interval and bf_max_time in seconds, where they differ from Slurm's defaults.

    slurmctld rests for bf_interval after each cycle, so that it works at most half the time for backfill if the
    interval is as long as a full cycle. The default of bf_max_time is bf_interval: with many nodes, backfill would
    consider only the first jobs of the queue.
    """
    full = len(cluster.having("compute")) * _CYCLE_MS  # milliseconds
    interval, longest = max(_SHORTEST, min(full // 1000, _SLURMS)), min(2 * full // 1000, _SLURMS)
    if interval < _SLURMS:
        yield f"bf_interval={interval}"
    if longest > interval:
        yield f"bf_max_time={longest}"


def window(cluster: Cluster) -> str | None:
    """Return bf_window in minutes with bf_resolution in seconds; None where Slurm's default of one day is enough.

    slurm.conf(5) advises a window at least as long as the longest time limit, because jobs could otherwise starve, and
    a resolution that grows with it: backfill then has as many steps as by default, each of which is 1/1440 of the
    window. A partition without a time limit does not count, and a `bf_window` of the inventory replaces both.
    """
    limits = [partition.entry.max_time for partition in cluster.partitions.values()]
    longest = max((minutes(limit) for limit in limits if limit), default=0)
    options = ",".join(value for key, value in cluster.slurm.parameters.items() if key.lower() == "schedulerparameters")
    if longest <= _DEFAULT or any(option.strip().lower().startswith("bf_window=") for option in options.split(",")):
        return None
    look = min(longest, _MOST)
    return f"bf_window={look},bf_resolution={-(-look * 60 // _DEFAULT)}"
