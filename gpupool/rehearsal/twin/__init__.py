"""The twin: the whole cluster at full size in one container without a network, with production's files."""

import hashlib
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm import arbiter
from gpupool.errors import GpupoolError, TwinError
from gpupool.rehearsal.twin import boot, container, image, nodes, queue
from gpupool.rehearsal.twin.accounting import reconcile, short_graces
from gpupool.rehearsal.twin.compiled import Compiled, cannot, compiled, of_version
from gpupool.rehearsal.twin.differences import applied, unnamed
from gpupool.rehearsal.twin.differences.table import CRED_EXPIRE, GRACE, INTERVAL, KILL_WAIT, differences, place_of
from gpupool.rehearsal.twin.jobs import HOLD, Ask, Job, Refusal, Result
from gpupool.rehearsal.twin.shell import Shell
from gpupool.slurm.releases import Tested
from gpupool.testbed import docker, dockerd

__all__ = ["HOLD", "Ask", "Compiled", "Job", "Refusal", "Result", "Twin", "cannot", "compiled", "of_version"]

Tell = Callable[[str], None]

HANGS = 600.0  # time limit of a script in a twin, in seconds; on a working machine, scripts take much less
_PACE = "for n in 1 2 3 4 5 6 7 8 9 10; do scontrol ping; done >/dev/null"
_QUIET = 0.12  # seconds that _PACE takes on two idle cores
_PACE_HOLDS = 5.0  # seconds for which a measured pace is reused


@dataclass
class Twin:
    """A running twin. `times` has these durations in seconds:

    `grace` is the longest grace time, and `grace:PARTITION` the grace time of a preemptable partition. `requeue` lasts
    from a job's preemption until it may start again, `kill` from SIGTERM to SIGKILL, `arbiter` from one look of the
    arbiter to the next.
    """

    cluster: Cluster
    version: Tested
    name: str
    times: dict[str, int] = field(default_factory=dict)
    _paces: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._shell = Shell(self.name)

    @classmethod
    def start(
        cls,
        cluster: Cluster,
        wanted: Compiled | None = None,
        version: Tested | None = None,
        *,
        tell: Tell = lambda _: None,
        keep: bool = False,
    ) -> Self:
        """Start a twin and return it after every node is idle; with `keep`, it outlives this process.

        By default, `version` is the inventory's, and `wanted` is `compiled(of_version(cluster, version))`.
        """
        runs = version or image.runnable(cluster.slurm.version)
        cluster = of_version(cluster, runs)
        wanted = wanted or compiled(cluster)
        entities = short_graces(wanted.entities)
        place = place_of(cluster, runs)
        table = differences(place)
        files = applied(wanted.files, table)
        dockerd.ensure()
        for orphan in container.remove_orphans():
            tell(f"removed {orphan}: the process that started it has ended")
        tag = image.ensure(runs, tell)
        state = cluster.slurm.state
        twin = cls(cluster, runs, container.run(tag, place, cluster.name, state=state, keep=keep))
        try:
            twin.do(boot.tree(cluster, files), "files")
            tell("munge, MariaDB, slurmdbd")
            twin.do(boot.database(state), "the database")
            twin.do(boot.slurmdbd(), "slurmdbd")
            tell("accounts and QoS")
            reconcile(twin._root, entities, limits=False)
            tell(f"slurmctld and {len(place.ports)} slurmd")
            twin.do(boot.daemons(place), "the daemons")
            tell("limits")
            reconcile(twin._root, entities, limits=True)
            if arbiter.UNIT in wanted.files:
                twin.do(boot.service(wanted.files[arbiter.UNIT]), "the arbiter")
            tell("waiting until all nodes are idle")
            twin.do(nodes.IDLE, "the nodes")
            twin._compare(files, unnamed(wanted.files, files, table))
        except BaseException:
            twin.stop()
            raise
        twin.times = _times(cluster)
        return twin

    def stop(self) -> None:
        """Remove the twin, if it still exists."""
        self._shell.close()
        with suppress(GpupoolError):
            container.remove(self.name)

    def __enter__(self) -> Self:
        """Return the twin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the twin, even after an error."""
        self.stop()

    def run(self, script: str, user: str = "root", seconds: float = HANGS) -> Result:
        """Run shell text in the twin as a user of the inventory or root; return its result, failed or not."""
        if user == "root":
            return self._shell.run(script, seconds)
        inside = ["timeout", "--signal", "KILL", str(seconds), "bash", "-s"]
        command = ["exec", "--interactive", "--user", user, "--workdir", "/tmp", self.name, *inside]
        done = docker.attempt(command, stdin=script, timeout=seconds + 30)
        return Result(done.returncode, done.stdout, done.stderr)

    def pace(self) -> float:
        """Return Slurm's present response time as a multiple of its time on two idle cores, at least 1."""
        now = time.monotonic()
        if not self._paces or now - self._paces[-1][0] > _PACE_HOLDS:
            self.run(_PACE)
            took = time.monotonic() - now
            self._paces.append((now + took, max(1.0, took / _QUIET)))
        return self._paces[-1][1]

    def slowest(self) -> float:
        """Return the slowest pace measured so far."""
        return max((pace for _, pace in self._paces), default=1.0)

    def do(self, script: str, what: str) -> Result:
        """Run shell text as root and return its result; TwinError with its last line if it fails."""
        done = self.run(script)
        if done.code:
            lines = (done.err.strip() or done.out.strip() or f"exit {done.code}").splitlines()
            raise TwinError(f"twin of {self.cluster.name}, {what}: {lines[-1]}")
        return done

    def submit(self, jobs: Sequence[Ask]) -> list[str | Refusal]:
        """Submit jobs in this order, and return the number of each, or sbatch's refusal."""
        if not jobs:
            return []
        done = self.do(queue.submission(self.cluster, jobs), "sbatch")
        return queue.answers(done.out, len(jobs))

    def jobs(self) -> list[Job]:
        """Return every job that has not ended."""
        return queue.jobs(self.do(queue.LOOK, "squeue").out)

    def history(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the last state of each job by id; each task of an array has its own id (`12_3`)."""
        wanted = set(ids)
        states = queue.ended(self.do(queue.ENDED, "sacct").out)
        return {job: state for job, state in states.items() if job in wanted or job.partition("_")[0] in wanted}

    def clear(self) -> None:
        """Cancel all jobs, and return after no job is left and every node is idle."""
        self.do(queue.CLEAR, "clearing")

    def lose(self, node: str) -> None:
        """Kill a node with all its jobs; return after slurmctld knows."""
        self.do(nodes.lose(node), f"losing {node}")

    def restore(self, node: str) -> None:
        """Restore a lost node; return after it accepts jobs, or runs jobs that were pending for it."""
        self.do(nodes.restore(node), f"restoring {node}")

    def _root(self, script: str, seconds: float) -> Result:
        return self.run(script, seconds=seconds)

    def _compare(self, files: Mapping[str, str], differing: Sequence[str]) -> None:
        """Raise TwinError if a file in the twin is not as in `files`, or if `differing` is not empty.

        `differing` has the lines that differ from production without a row in the table of differences.
        """
        read = self.do(f"sha256sum {shlex.join(files)} || true", "files").out
        sums = {path: known for known, _, path in (line.partition("  ") for line in read.splitlines())}
        written = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
        differing = [
            *differing,
            *(f"{path}: changed after it was written" for path, sum in written.items() if sums.get(path) != sum),
        ]
        if differing:
            message = "the twin differs from production beyond the table of differences:"
            raise TwinError("\n  ".join([message, *differing]))


def _times(cluster: Cluster) -> dict[str, int]:
    graces = {
        partition.name: min(partition.grace, GRACE)
        for partition in cluster.partitions.values()
        if partition.preemptable
    }
    return {
        "grace": max(graces.values(), default=0),
        **{f"grace:{name}": grace for name, grace in graces.items()},
        "requeue": CRED_EXPIRE + 1,
        "kill": KILL_WAIT,
        **({"arbiter": min(asked.interval, INTERVAL)} if (asked := cluster.preemption.arbiter) else {}),
    }
