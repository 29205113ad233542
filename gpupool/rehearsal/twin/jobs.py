"""Jobs of a twin: what is asked of sbatch, what it says, and what squeue shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# the script of a job that only holds what it got: it ends at SIGTERM, at once
HOLD = "#!/bin/sh\nexec sleep infinity\n"
#: States of jobs that hold their GPUs.
RUNS = ("RUNNING", "CONFIGURING")


@dataclass(frozen=True)
class Result:
    """How a script in the twin ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Ask:
    """A job to hand in: who, sbatch's options, and the batch script."""

    user: str
    options: tuple[str, ...] = ()
    body: str = HOLD


@dataclass(frozen=True)
class Refusal:
    """sbatch's own message for a job that it did not take."""

    message: str


@dataclass(frozen=True)
class Job:
    """A job as squeue shows it; each task of an array is one (`12_3`).

    `gpus` and `cpus` are what it holds, or asks for while it is pending; `gpu_types` counts those of named types;
    `mem` in MiB; `nodes` are those it runs on; `start` in seconds since 1970, None while nobody knows; `limit` in
    seconds, None without one. `state` is Slurm's word: PENDING, RUNNING, COMPLETING, …
    """

    id: str
    user: str
    account: str
    partition: str
    qos: str
    state: str
    reason: str
    gpus: int
    cpus: int
    nodes: tuple[str, ...]
    restarts: int
    start: float | None
    limit: int | None
    mem: int = 0
    name: str = ""
    gpu_types: Mapping[str, int] = field(default_factory=dict)

    @property
    def array(self) -> str:
        """The number that sbatch gave: of the whole array, where this is a task of one."""
        return self.id.partition("_")[0]
