"""A site's own promises: read strictly, every slip with its file and line."""

from pathlib import Path

import pytest

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.load import load
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.scenarios.attempt import _holds
from gpupool.rehearsal.scenarios.data import Expect, Pending
from gpupool.rehearsal.scenarios.promises import promises
from gpupool.rehearsal.stage import QueueSnapshot, SubmittedJobs
from gpupool.rehearsal.twin.jobs import Job

EXAMPLE = Path(__file__).parents[3] / "inventory" / "example"
CLUSTER = load(EXAMPLE)


def test_the_example_has_one_promise() -> None:
    (promise,) = promises(EXAMPLE, CLUSTER)
    assert promise.key == "debug-goes-first"
    assert "quick experiment" in promise.text


def test_an_inventory_without_the_folder_has_no_promises(tmp_path: Path) -> None:
    assert promises(tmp_path, CLUSTER) == []


GOOD = """\
name: mine
promise: It runs
steps:
  - submit: {user: u-vision1, options: "-p short", name: first}
    expect: {running: 1}
"""


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD.replace("promise: It runs\n", ""), 1, "promise: is missing"),
        (GOOD.replace("running", "runnning"), 5, "unknown key (did you mean running?)"),
        (GOOD.replace("u-vision1", "u-vison1"), 4, "there is no user u-vison1 (did you mean u-vision1?)"),
        (GOOD + "    cancel: frist\n", 6, "no earlier step submits jobs named frist (did you mean first?)"),
        (GOOD + "  - expect: {of: other, running: 1}\n", 6, "no earlier step submits jobs named other"),
        (GOOD.replace("running: 1", "running: -1"), 5, "-1 is not a number of jobs; write a number, or pool"),
        (GOOD.replace("running: 1", "running: all"), 5, "'all' is not a number of jobs; write a number, or pool"),
        (GOOD.replace("running: 1", "running: 1, within: 30"), 5, "30 is not a duration"),
        (GOOD + "  - {}\n", 6, "a step submits, expects or cancels something"),
        ("name: mine\npromise: It\nsteps: []\n", 3, "at least 1"),
        ("name: mine\npromise: It\nsteps:\n  - expect: {running: 1}\n", 4, "no earlier step submits jobs"),
        ("name: [\n", 2, "not YAML"),
    ],
)
def test_a_slip_is_named_with_file_and_line(text: str, line: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "rehearsal").mkdir()
    file = tmp_path / "rehearsal" / "mine.yml"
    file.write_text(text)
    with pytest.raises(BadInventoryError) as caught:
        promises(tmp_path, CLUSTER)
    assert f"{file}:{line}: " in str(caught.value)
    assert message in str(caught.value)


def test_slips_of_all_files_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "rehearsal").mkdir()
    for name in ("a", "b"):
        (tmp_path / "rehearsal" / f"{name}.yml").write_text(GOOD.replace("steps", "step"))
    with pytest.raises(BadInventoryError) as caught:
        promises(tmp_path, CLUSTER)
    assert "a.yml:3" in str(caught.value)
    assert "b.yml:3" in str(caught.value)


def test_two_promises_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rehearsal").mkdir()
    for name in ("a", "b"):
        (tmp_path / "rehearsal" / f"{name}.yml").write_text(GOOD)
    with pytest.raises(BadInventoryError, match=r"mine is also the name of .*a\.yml"):
        promises(tmp_path, CLUSTER)


def job(number: str, state: str, reason: str = "None", restarts: int = 0) -> Job:
    return Job(number, "u-vision1", "vision-lab", "short", "normal", state, reason, 1, 1, (), restarts, None, None)


SUBMITTED = SubmittedJobs({"7": JobRequest("vision-lab", "u-vision1", "vision-lab", "short", 3)})
SNAPSHOT = QueueSnapshot(
    [
        job("7_1", "RUNNING"),
        job("7_2", "RUNNING", restarts=1),
        job("7_3", "PENDING", "QOSMaxGRESPerUser"),
        job("8", "RUNNING"),
    ]
)


@pytest.mark.parametrize(
    ("expect", "true"),
    [
        (Expect(running=2), True),
        (Expect(running=3), False),
        (Expect(requeued=1), True),
        (Expect(requeued=0), False),
        (Expect(running=2, pending=Pending(count=1, reason="QOSMax")), True),
        (Expect(pending=Pending(count=1, reason="Resources")), False),
        (Expect(pending=Pending(count=0)), False),
    ],
)
def test_expectations_concern_submitted_jobs_only(expect: Expect, true: bool) -> None:
    assert _holds(SNAPSHOT, expect, SUBMITTED) is true
