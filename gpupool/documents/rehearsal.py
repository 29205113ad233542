"""The documents of `rehearse`."""

from typing import Literal

from typing_extensions import TypedDict


class PromiseEntry(TypedDict):
    """One promise."""

    key: str
    """Its key, for `--only`."""
    promise: str
    """The promise, as text."""
    not_made_because: str | None
    """Why the inventory does not make it; null if it does."""


class PromisesDocument(TypedDict):
    """The promises that `rehearse --list` lists."""

    promises: list[PromiseEntry]
    """The promises, in the order in which they are tested."""


class FindingEntry(TypedDict):
    """The result of one promise."""

    promise: str
    """Its key."""
    words: str
    """The promise, as text."""
    tried: str
    """The test, as text."""
    happened: str
    """The result, as text."""
    outcome: Literal["kept", "broken", "void", "not made"]
    """`void`: nothing in the inventory protects the promise; `not made`: the inventory does not make it."""
    seconds: float
    """Duration of its test, in seconds."""
    requirements: list[str]
    """Ids of the requirements that its test covers."""


class MomentEntry(TypedDict):
    """The GPUs at one time."""

    at: float
    """Seconds since the start."""
    promise: str
    """Key of the promise that was tested."""
    owned: dict[str, int]
    """GPUs of jobs that cannot be preempted, by lab."""
    borrowed: dict[str, int]
    """GPUs of preemptable jobs, by lab."""
    evicted: dict[str, int]
    """GPUs that preempted jobs request, which are pending again, by lab."""
    idle: int
    """GPUs without a job."""
    down: int
    """GPUs of nodes that are down."""


class SettingEntry(TypedDict):
    """One setting that differs between the twin and the cluster."""

    file: str
    """The file."""
    key: str
    """The key; empty if the whole file differs."""
    production: str
    """Its value on the cluster."""
    twin: str
    """Its value on the twin."""
    why: str
    """Why it differs."""


class RehearseDocument(TypedDict):
    """The rehearsed promises."""

    cluster: str
    """Name of the cluster."""
    change: str | None
    """The file of `--with`; null without one."""
    slurm: str
    """The release of Slurm that was tested."""
    not_rehearsed_with: str | None
    """The release of Slurm that the cluster will run, if it is another one."""
    made: str
    """The begin, with time zone: `2030-01-31T08:12:00+00:00`."""
    seconds: float
    """Duration, in seconds."""
    nodes: int
    """Number of nodes."""
    gpus: int
    """Number of GPUs."""
    caps: dict[str, int]
    """GPUs that each lab owns."""
    counts: dict[Literal["kept", "broken", "void", "not made"], int]
    """Number of promises with each outcome."""
    grace: int
    """The longest grace time of a preempted job on the cluster, in seconds."""
    waits: list[float]
    """How long owners' jobs waited on the twin beyond the grace time, in seconds."""
    findings: list[FindingEntry]
    """The result of each promise."""
    moments: list[MomentEntry]
    """The GPUs over time."""
    suspended: list[str]
    """Nodes and GPUs out of service on the cluster, and the promises that this suspends, as text."""
    differences: list[SettingEntry]
    """The settings that differ between the twin and the cluster."""
