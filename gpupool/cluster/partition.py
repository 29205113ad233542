"""A partition, with the values that the inventory resolves."""

from dataclasses import dataclass
from typing import Literal

from gpupool.cluster.schema import labs
from gpupool.cluster.schema.labs import Limits, PreemptAction


@dataclass(frozen=True)
class Partition:
    """A partition with the values that the inventory resolves; `entry` has all others as written. Times in seconds.

    `nodes` are names. `default_time` is None if jobs without --time get `max_time`; `without_gpu` is `refuse`, or the
    partition for jobs without GPUs. A partition is `preemptable` by its tier, or if each QoS that it allows is:
    `action` and `grace` are then those of the QoS.
    """

    entry: labs.Partition
    name: str
    nodes: tuple[str, ...]
    default_time: int | None
    default: bool
    preemptable: bool
    action: PreemptAction | Literal["suspend"]
    grace: int
    allow_accounts: tuple[str, ...]
    deny_accounts: tuple[str, ...]
    limits: Limits
    without_gpu: str | None
