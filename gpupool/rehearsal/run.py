"""A rehearsal: every promise of an inventory is tested on its twin; the results are findings and the use of GPUs."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gpupool.cluster.model import Cluster
from gpupool.engine.progress import Progress, Silence
from gpupool.errors import GpupoolError
from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.finding import Finding, Moment
from gpupool.rehearsal.promises import FIRST, LAST, MIDDLE
from gpupool.rehearsal.promises.base import Promise, Verdict, broken
from gpupool.rehearsal.stage import Stage
from gpupool.rehearsal.twin import Twin, cannot


@dataclass(frozen=True)
class Rehearsal:
    """The findings, one for each promise, and the moments; `seconds` excludes the start of the twin.

    `waits` has the seconds for which owners' jobs waited at a full pool beyond the grace time of preempted jobs.
    """

    findings: Sequence[Finding]
    moments: Sequence[Moment]
    seconds: float = 0.0
    version: str = ""
    waits: Sequence[float] = ()

    @property
    def kept(self) -> bool:
        """Return whether no promise was broken."""
        return all(finding.outcome != "broken" for finding in self.findings)


@dataclass
class _Run:
    stage: Stage
    lacks: Mapping[str, str]
    progress: Progress
    findings: list[Finding] = field(default_factory=list)

    def reason(self, promise: Promise) -> str | None:
        """Return why the promise is not made here, or None."""
        return promise.not_made_because(self.stage.expected) or self.lacks.get(promise.key)

    def begin(self, promise: Promise) -> None:
        if promise.begin and not self.reason(promise):
            promise.begin(self.stage)

    def attempt(self, promise: Promise) -> None:
        self.progress.step(promise.key, promise.text)
        start = time.monotonic()
        self.stage.watch.trying = promise.key
        if reason := self.reason(promise):
            verdict = Verdict("nothing", reason, "not made")
        else:
            try:
                verdict = promise.try_it(self.stage)
            except GpupoolError as error:
                verdict = broken("until the failure", f"the twin did not answer: {error}")
        finding = Finding(
            promise.key,
            promise.text,
            verdict.tried,
            verdict.happened,
            verdict.outcome,
            round(time.monotonic() - start, 1),
            promise.requirements,
        )
        self.findings.append(finding)
        show(self.progress, finding)


def rehearse(
    twin: Twin,
    cluster: Cluster,
    *,
    only: Collection[str] = (),
    extra: Sequence[Promise] = (),
    progress: Progress = Silence(),
) -> Rehearsal:
    """Test the promises of a cluster and the site's own (`extra`) on a running twin.

    `only` has the keys of the promises to test, or is empty for all. KeyboardInterrupt is not caught.
    """
    start = time.monotonic()
    stage = Stage(twin, Expected(cluster))
    run = _Run(stage, cannot(twin.version), progress)

    def wanted(promises: Sequence[Promise]) -> list[Promise]:
        return [promise for promise in promises if not only or promise.key in only]

    for promise in wanted(FIRST):
        run.attempt(promise)
    for promise in wanted([*MIDDLE, *LAST]):
        run.begin(promise)
    for promise in wanted([*MIDDLE, *extra, *LAST]):
        run.attempt(promise)
    return Rehearsal(
        run.findings,
        stage.watch.moments,
        round(time.monotonic() - start, 1),
        twin.version,
        tuple(stage.earlier.waits),
    )


def show(progress: Progress, finding: Finding) -> None:
    """Show on `progress` that a promise was tested, and what is wrong with it."""
    progress.advance()
    if finding.outcome == "broken":
        progress.failed(finding.promise, finding.happened)
    elif finding.outcome == "void":
        progress.note(f"void: {finding.promise}: {finding.happened}")
