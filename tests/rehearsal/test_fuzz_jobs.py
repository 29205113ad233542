"""A few random jobs on a real slurmctld, by a fixed seed: `script/fuzz --jobs 2000` tries more. Needs docker."""

from collections.abc import Callable, Iterator

import pytest
from fuzzed_jobs.cases import Case
from fuzzed_jobs.inside import NOTIFIED
from fuzzed_jobs.invariants import Invariants
from fuzzed_jobs.legal import Legal
from fuzzed_jobs.place import PLUGIN, Place, cases, reckoning, twin
from fuzzed_jobs.report import screen
from fuzzed_jobs.run import Outcome, Run
from fuzzed_jobs.talk import Inside

from gpupool.rehearsal.twin import Twin, compiled

SEED = 4
BOUND = 17  # seconds: 15 and an interval of the arbiter
WITHOUT = Place(without=frozenset({"plugin"}))


@pytest.fixture(scope="module")
def unruled(apart: None) -> Iterator[Twin]:
    """A cluster whose submit plugin refuses nothing."""
    with twin(WITHOUT, lambda _: None) as started:
        yield started


def _run(twin: Twin, make: Callable[[int], Case], jobs: int, *, legal: bool = False) -> Outcome:
    inside = Inside(twin.name)
    try:
        invariants = Invariants(reckoning(twin), BOUND)
        run = Run(inside, invariants, make, legal=legal, probe_bound=BOUND + 2, tell=lambda _: None)
        return run.until(jobs)
    finally:
        inside.close()
        twin.run(f"rm -f {NOTIFIED}")


def test_the_guard_alone_ends_what_random_jobs_hold_beyond_their_limits(unruled: Twin) -> None:
    outcome = _run(unruled, cases(unruled, SEED, WITHOUT.left_out).case, 120)
    assert not outcome.violations, screen(outcome, "without plugin")
    assert outcome.counts["excesses"] >= 3
    assert outcome.counts["held by the guard"] >= 3
    assert outcome.counts["probes"] >= 1


def test_legal_jobs_are_left_alone_by_plugin_and_guard(unruled: Twin) -> None:
    plugin = compiled(unruled.cluster).files[PLUGIN]
    # slurmctld reads the file again, because it has another time
    unruled.do(f"cat > {PLUGIN} <<'END_OF_PLUGIN'\n{plugin}\nEND_OF_PLUGIN", "the plugin")
    refused = unruled.run("sbatch -p short --mem-per-cpu=0 --wrap true", "u-vision1")
    assert "per CPU" in refused.err, "the plugin is active"
    outcome = _run(unruled, Legal(unruled.cluster, SEED).case, 200, legal=True)
    assert not outcome.violations, screen(outcome, "legal jobs")
    assert not outcome.alarms, screen(outcome, "legal jobs")
    assert outcome.counts["started"] >= 20
