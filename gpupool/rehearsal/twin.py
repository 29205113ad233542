"""The twin: the whole cluster in one container without a network, at its full size, with production's own files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from gpupool.cluster.model import Cluster
from gpupool.rehearsal.compiled import Compiled, Version, compiled, of_version
from gpupool.rehearsal.twin_jobs import HOLD, Ask, Job, Refusal, Said

__all__ = ["HOLD", "Ask", "Compiled", "Job", "Refusal", "Said", "Twin", "Version", "cannot", "compiled", "of_version"]

Tell = Callable[[str], None]


def cannot(version: str) -> dict[str, str]:
    """Give the promises that a Slurm version cannot make, with the reason."""
    raise NotImplementedError


@dataclass
class Twin:
    """A running twin. `times` in seconds, as they are here:

    `grace` of the partition with the longest, `grace:PARTITION` of each that gives way, `requeue` from a job's
    eviction until it may start again.
    """

    cluster: Cluster
    version: Version
    name: str
    times: dict[str, int] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        cluster: Cluster,
        wanted: Compiled | None = None,
        version: Version | None = None,
        *,
        tell: Tell = lambda _: None,
        keep: bool = False,
    ) -> Self:
        """Start a twin and return once every node is idle; `keep` leaves it standing when this process is gone.

        `wanted` is `compiled(of_version(cluster, version))` unless said otherwise; `version` the inventory's own.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Remove the twin; twice does no harm."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Give the twin itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it, whatever happened."""
        self.stop()

    def run(self, script: str, user: str = "root", seconds: float = 60) -> Said:
        """Run shell text in the twin as a user of the inventory, or root; a failure is in the answer."""
        raise NotImplementedError

    def submit(self, jobs: Sequence[Ask]) -> list[str | Refusal]:
        """Hand in jobs in this order, and give the number of each, or sbatch's refusal."""
        raise NotImplementedError

    def jobs(self) -> list[Job]:
        """Give every job that has not ended."""
        raise NotImplementedError

    def history(self, ids: Iterable[str]) -> dict[str, str]:
        """Give the states that jobs ended in (or are in now) by id; tasks of arrays one by one (`12_3`)."""
        raise NotImplementedError

    def clear(self) -> None:
        """Cancel everything, and return once no job is left and every node is idle."""
        raise NotImplementedError

    def lose(self, node: str) -> None:
        """Let a node die with all that runs on it; return once slurmctld knows."""
        raise NotImplementedError

    def restore(self, node: str) -> None:
        """Let a lost node come back; return once it is idle."""
        raise NotImplementedError
