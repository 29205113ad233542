"""Bring a lost controller back while jobs run: munge key, database, slurmctld's queue, then slurmctld.

Each part is restored only if it is lost, so a run that was killed is continued by the next one. slurmctld starts last:
it ends each job that its queue does not have.
"""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gpupool.compile.slurm.conf import SLURM_CONF
from gpupool.compile.slurm.heart import heart_of
from gpupool.compile.system.backup import COMMAND
from gpupool.engine.report import Report
from gpupool.errors import GpupoolError, UsageError
from gpupool.facts.backups import Backups, BackupsState
from gpupool.facts.base import Fact
from gpupool.facts.remains import Remains, RemainsState
from gpupool.operations import remains, trial
from gpupool.remote.errors import NoAnswerError, RefusedError
from gpupool.remote.nodes import Nodes
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner
from gpupool.shell import shell_file
from gpupool.upkeep import lost_controller_steps

T = TypeVar("T")

_AT_ONCE = 32
_SECONDS = 300.0  # for slurmctld to read a backup
_AGAIN = "slurmctld was not started, and jobs keep running; run the same command again to continue"
_SAVED_JOBS = trial.START + shell_file(__package__, "saved_jobs.sh")


@dataclass(frozen=True)
class Plan:
    """The parts to restore, and the jobs that this costs.

    `database` is the name and `queue` the path of a backup, "" for a part that is not restored. `lost` are the lost
    parts, as text. `ends` are the numbers of running jobs that the queue will not have, `forgets` those of other jobs.
    `silent` are nodes whose jobs are unknown.
    """

    lost: tuple[str, ...] = ()
    database: str = ""
    queue: str = ""
    stops: bool = False
    ends: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


class Recovery:
    """The recovery of the controllers and the database's node of a cluster."""

    def __init__(self, runner: DeployRunner, nodes: Nodes, observer: Observer) -> None:
        self._runner, self._nodes, self._observer = runner, nodes, observer
        self._cluster = runner.target.cluster
        self._heart = heart_of(self._cluster)
        self._first = self._cluster.controllers[0].name
        names = {self._cluster.database.name, *(node.name for node in self._cluster.controllers)}
        self._names = {node.name for node in runner.target.nodes if node.name in names}

    def prepare(self, backup: str) -> Plan:
        """Install the machines without starting slurmctld, and return what is to be restored.

        `backup` is the name of a backup of the database, "" for the newest. GpupoolError if a machine cannot be
        prepared, or the backup of the queue cannot be read.
        """
        answers = self._look(self._heart.nodes)
        missing = [name for name in self._names if name not in answers and name in self._heart.needed]
        if missing:
            raise GpupoolError(f"{', '.join(missing)}: no answer; install the machine, and accept its host key")
        if name := remains.other_name(self._heart, answers):
            raise GpupoolError(remains.renamed(self._heart, name))
        holders = remains.other_keys(answers[self._first], answers)
        self._step("everything but slurmctld is installed")
        steps = partial(lost_controller_steps.prepare, holders[0] if holders else "")
        self._runner.deploy(steps, self._names, execute=True).ensure_ok(_AGAIN)
        key = (f"munge key (copied from {holders[0]})",) if holders else ()
        return self._planned({**answers, **self._look(self._names)}, key, backup)

    def carry_out(self, plan: Plan, *, aside: bool) -> Report:
        """Restore what the plan names, start slurmctld, then apply the inventory to these nodes; return its report."""
        self._step("database and queue are restored, then slurmctld starts")
        steps = partial(
            lost_controller_steps.bring_back,
            stops=plan.stops,
            saved_database=plan.database,
            saved_queue=plan.queue,
            aside=aside,
        )
        self._runner.deploy(steps, self._names, execute=True).ensure_ok("run the same command again to continue")
        return self._runner.apply(self._names)

    def _planned(self, answers: remains.Answers, lost: tuple[str, ...], backup: str) -> Plan:
        database = self._heart.database
        saved = self._asked(database, Backups(), program=COMMAND)
        mismatch = bool(remains.mismatches(self._heart, answers))
        no_database = not remains.is_known(self._heart, answers) or (mismatch and saved is not None and not saved.jobs)
        no_queue = remains.has_no_queue(self._heart, answers)
        if backup and not no_database:
            raise UsageError("--backup: the database is not lost; gpupool restore without --controller replaces it")
        dump = _newest(saved, "database", backup) if no_database else ""
        if backup and not dump:
            raise UsageError(f"--backup: there is no backup {backup} on {database}")
        queue = _newest(self._asked(self._first, Backups(), program=COMMAND), "state") if no_queue else ""
        kept = self._jobs_in(queue) if queue else set()
        steps = {job for each in answers.values() for job in each.steps}
        known = remains.unfinished(answers) if no_queue else []
        return Plan(
            lost=(
                *lost,
                *([f"database ({_where(dump)})"] if no_database else []),
                *([f"queue of slurmctld ({_where(queue)})"] if no_queue else []),
            ),
            database=dump.rpartition("/")[2],
            queue=queue,
            stops=no_database or no_queue or mismatch,
            ends=tuple(job for job in known if job in steps and job not in kept),
            forgets=tuple(job for job in known if job not in steps and job not in kept),
            silent=tuple(name for name in self._heart.nodes if name not in answers) if no_queue else (),
        )

    def _jobs_in(self, queue: str) -> set[str]:
        """Return the numbers of the jobs in a backup of the queue."""
        self._step(f"the jobs in {queue} are read")
        slurm = self._cluster.slurm
        script = trial.with_cluster_id(slurm.version) + _SAVED_JOBS
        words = ["sh", "-c", script, "gpupool-trial", slurm.file(SLURM_CONF), queue]
        return {line.split()[0] for line in self._nodes.output_on(self._first, *words, seconds=_SECONDS).splitlines()}

    def _look(self, names: Collection[str]) -> dict[str, RemainsState]:
        """Return the parts of the cluster on the nodes that answer."""
        managed = [node.name for node in self._runner.target.nodes if node.name in {*names, *self._names}]

        def one(name: str) -> RemainsState | None:
            return self._asked(name, Remains(), **remains.arguments(self._heart, name))

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = zip(managed, pool.map(one, managed), strict=True)
        return {name: answer for name, answer in answers if answer is not None}

    def _asked(self, node: str, fact: Fact[T], **arguments: Any) -> T | None:
        """Return a node's answer to a fact; None without one."""
        command = fact.command(**arguments)
        text = command if isinstance(command, str) else command.get_raw_value()
        try:
            answer = self._nodes.run(node, text)
        except (NoAnswerError, RefusedError):
            return None
        return fact.process(answer.out.decode(errors="replace").removesuffix("\n").split("\n"))

    def _step(self, what: str) -> None:
        self._observer.step(self._first, what)


def _newest(state: BackupsState | None, kind: str, name: str = "") -> str:
    """Return the path of the newest backup of a kind, or of the one with this name; "" if there is none."""
    paths: Mapping[str, tuple[str, ...]] = state.backups if state else {}
    return next((path for path in paths.get(kind, ()) if not name or path.rpartition("/")[2] == name), "")


def _where(path: str) -> str:
    return f"from {path}" if path else "no backup: it begins empty"
