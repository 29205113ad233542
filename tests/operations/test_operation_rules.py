"""The rules of operations that need no node: when a unit is stale, the diff in a plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.facts.service import UnitState, WatchedFile
from gpupool.operations.diffs import diff_of
from gpupool.operations.service import stale
from gpupool.operations.subordinate import FIRST
from gpupool.unix import RESERVED_IDS

CONF = "/etc/slurm/slurm.conf"


def unit(now: str, written: float, noted: str | None = None, same: bool = True, process: float = 101.0) -> UnitState:
    """Return a unit that started at 100; gpupool's stamp is from 110, and its main process was the one of 101."""
    return UnitState(
        invocation="now", started=100.0, process=str(process), process_started=process,
        stamp_invocation="now" if same else "before", stamp_process="101.0", stamped=110.0,
        stamp_sums={} if noted is None else {CONF: noted}, files={CONF: WatchedFile(now, written)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "coming", "is_stale"),
    [
        pytest.param(unit("a", 200, noted="a"), None, False, id="written anew with the same text"),
        pytest.param(unit("b", 200, noted="a"), None, True, id="replaced, and the run died"),
        pytest.param(unit("b", 50, noted="a"), None, True, id="replaced, and the clock was set back"),
        pytest.param(unit("b", 50, noted="a", same=False), None, False, id="replaced, then started by somebody else"),
        pytest.param(unit("b", 200, noted="a", same=False), None, True, id="started by somebody else, then replaced"),
        pytest.param(unit("a", 50), None, False, id="in order before gpupool came"),
        pytest.param(unit("a", 200), None, True, id="no stamp, replaced, and the run died"),
        pytest.param(unit("a", 50, noted="a"), "c", True, id="this run will write it"),
        pytest.param(unit("a", 50, noted="a"), "a", False, id="this run leaves it"),
        pytest.param(unit("-", 0, noted="a"), None, True, id="gone"),
        pytest.param(unit("-", 0), None, False, id="never there"),
        pytest.param(unit("a", 50, noted="-"), None, True, id="came"),
        pytest.param(unit("x", 200, noted="a"), "a", False, id="changed by hand, and this run puts it back"),
        pytest.param(unit("x", 200, noted="a", same=False), "a", True, id="the same, started by hand in between"),
        pytest.param(unit("a", 200, noted="a", same=False), None, True, id="put back after a start by hand"),
    ],
)
def test_a_unit_is_stale_if_it_has_not_read_its_files(state: UnitState, coming: str | None, is_stale: bool) -> None:
    assert bool(stale(state, {} if coming is None else {CONF: coming})) is is_stale


@pytest.mark.parametrize(
    ("state", "coming", "is_stale"),
    [
        pytest.param(unit("a", 105, noted="a"), None, False, id="not written since the load"),
        pytest.param(unit("a", 200, noted="a"), None, True, id="changed, reloaded and put back by hand"),
        pytest.param(
            unit("x", 200, noted="a"), "a", True, id="changed and perhaps reloaded, and this run puts it back"
        ),
        pytest.param(unit("a", 200, noted="a", process=210), None, False, id="a new process has read it"),
        pytest.param(unit("a", 200, noted="a", process=190), None, True, id="put back after a new process"),
        pytest.param(unit("b", 150, noted="a", process=190), None, False, id="changed, and a new process has read it"),
    ],
)
def test_a_file_that_is_read_on_a_reload_is_stale_if_it_was_written_since(
    state: UnitState, coming: str | None, is_stale: bool
) -> None:
    assert bool(stale(state, {} if coming is None else {CONF: coming}, [CONF])) is is_stale


def test_a_new_process_of_an_invocation_does_not_read_the_files_of_its_unit() -> None:
    """A reconfigure by hand replaces the process: the unit's settings stay those of its start."""
    drop_in = "/etc/systemd/system/slurmd.service.d/gpupool.conf"
    state = unit("a", 200, noted="a", process=210)
    replaced = replace(state, stamp_sums={drop_in: "a"}, files={drop_in: WatchedFile("b", 200.0)})
    assert stale(replaced, {}), "read at the next restart only"
    assert not stale(replace(replaced, files={drop_in: WatchedFile("a", 200.0)}), {}), "the text of its start"


SUMS = some.sampled_from(["a", "b", "c"])


@given(
    now=SUMS, coming=SUMS, noted=some.none() | SUMS, same=some.booleans(), written=some.sampled_from([50.0, 150.0]),
    process=some.sampled_from([101.0, 160.0]), reloads=some.sampled_from([[], [CONF]]),
)  # fmt: skip
def test_a_plan_lists_the_restarts_of_apply(
    now: str, coming: str, noted: str | None, same: bool, written: float, process: float, reloads: list[str]
) -> None:
    """The plan knows the text to write; after an apply the node has that text, just written."""
    planned = stale(unit(now, written, noted, same, process), {CONF: coming}, reloads)
    applied = stale(unit(coming, written if now == coming else 200.0, noted, same, process), {}, reloads)
    assert planned.keys() == applied.keys()


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        (None, "a\n", "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "a", "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        ("a\n", "a\n", ""),
    ],
)
def test_diffs(before: str | None, after: str, diff: str) -> None:
    assert diff_of(before, after, "/f") == diff


def test_subordinate_ids_begin_where_no_person_can_have_a_number() -> None:
    assert RESERVED_IDS[-1][0].start == FIRST
