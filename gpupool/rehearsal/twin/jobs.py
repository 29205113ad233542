"""Jobs of a twin: requests to sbatch, its refusals, and squeue's rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# the script of a job that only holds its resources, and ends at once at SIGTERM
HOLD = "#!/bin/sh\nexec sleep infinity\n"
#: States of jobs that hold their GPUs.
RUNS = ("RUNNING", "CONFIGURING")


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a script in the twin."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Ask:
    """A job to submit: the user, sbatch's options, and the batch script."""

    user: str
    options: tuple[str, ...] = ()
    body: str = HOLD


@dataclass(frozen=True)
class Refusal:
    """sbatch's message for a job that it refused."""

    message: str


@dataclass(frozen=True)
class Job:
    """A job in squeue's output; each task of an array is a job (`12_3`).

    `gpus` and `cpus` are numbers that it holds, or requests while it is pending; `gpu_types` counts GPUs by requested
    type; `mem` in MiB; `nodes` are its nodes; `start` in Unix time, None if unknown; `limit` in seconds, None if
    unlimited. `state` is Slurm's: PENDING, RUNNING, COMPLETING, …
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
        """Return the number that sbatch printed; for a task, the number of its array."""
        return self.id.partition("_")[0]
