"""How far ahead backfill plans, from the longest time limit of all partitions."""

from gpupool.cluster.model import Cluster
from gpupool.slurm.times import minutes

_DEFAULT, _MOST = 1440, 43_200  # minutes; slurm.conf(5), SchedulerParameters, bf_window


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
