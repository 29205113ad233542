"""Running jobs that began under a release of Slurm that the new release does not read.

A step of a job keeps the program with which it began, slurmstepd, when Slurm is upgraded. Slurm's daemons work with
steps of the releases that they read (upgrades.shtml); an older one cannot report to slurmctld that its job has ended.
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from gpupool.cluster.node import Node
from gpupool.errors import GpupoolError
from gpupool.facts.slurm_packages import release_of
from gpupool.remote.controller import Controller, NoAnswerError
from gpupool.shell import shell_file
from gpupool.slurm.jobs import Job
from gpupool.slurm.releases import number
from gpupool.slurm.upgrades import READS_FROM
from gpupool.upkeep.state import by_node, jobs, starts

_SCRIPT = shell_file(__package__, "older_jobs.sh")
_LOG = "/var/log/dpkg.log"
_SECONDS = 60.0
_AT_ONCE = 16
_LINE = re.compile(r"(?m)^(\d+) (\S*\d+\.\d+\S*)$")


class OlderJobs:
    """The jobs on some nodes that began before a slurmd was replaced whose release the new one does not read.

    dpkg's log has the replaced versions of a node. A node that does not answer, or that has no log, counts as without.
    `begun`: an earlier run of this upgrade has replaced slurmdbd, after it had waited for these jobs. If it ended while
    slurmctld was stopped, there are none.
    """

    def __init__(self, controller: Controller, nodes: Sequence[Node], release: str, *, begun: bool) -> None:
        self._controller, self._begun = controller, begun
        until = _until(controller, nodes, number(READS_FROM[release]))
        self._until = {name: at for name, at in until.items() if at}
        self._nodes = [node for node in nodes if node.name in self._until]

    def now(self) -> Mapping[str, tuple[Job, ...]]:
        """Return the jobs that still run, by node; nodes without such jobs are left out."""
        try:
            begun = starts(self._controller, self._nodes)
            on = by_node(jobs(self._controller, self._nodes), self._nodes)
        except NoAnswerError:
            if self._begun:
                return {}
            raise
        older = {
            name: tuple(job for job in on[name] if begun.get(job.id, at + 1) <= at) for name, at in self._until.items()
        }
        return {name: left for name, left in older.items() if left}


def _until(controller: Controller, nodes: Sequence[Node], oldest: tuple[int, int]) -> Mapping[str, int]:
    """Return when a release before `oldest` was last replaced on each node, in seconds since 1970; 0 if never."""

    def ask(node: Node) -> int:
        try:
            answer = controller.output_on(node.name, "sh", "-c", _SCRIPT, "older_jobs", _LOG, seconds=_SECONDS)
        except GpupoolError:
            return 0
        replaced = [(int(at), release_of(version)) for at, version in _LINE.findall(answer)]
        return max((at for at, release in replaced if number(release) < oldest), default=0)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip((node.name for node in nodes), pool.map(ask, nodes), strict=True))
