"""The generator of random jobs and the reckoning of what they hold, without Slurm."""

from pathlib import Path

import pytest
from fuzzed_jobs.cases import Cases
from fuzzed_jobs.invariants import Invariants
from fuzzed_jobs.inventory import cluster
from fuzzed_jobs.legal import Legal
from fuzzed_jobs.reckoning import Reckoning, row

from gpupool.cluster.model import Cluster

HELP = """
  -c, --cpus-per-task=ncpus   number of cpus required per task
      --mem=MB                minimum amount of real memory
      --new-in-this-release=n something
  -W, --wait                  wait for completion of submitted job
"""
CONF = "PriorityWeightQOS=10000\nPriorityWeightAge=1000\nPriorityWeightPartition=33000\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return cluster(tmp_path_factory.mktemp("fuzzed"))


def test_a_seed_and_a_number_give_the_same_case(whole: Cluster) -> None:
    one, other = (Cases(whole, 3, HELP, ["NewField"], ()) for _ in range(2))
    assert [one.case(number) for number in range(50)] == [other.case(number) for number in range(50)]
    assert one.case(1) != Cases(whole, 4, HELP, ["NewField"], ()).case(1)


def test_every_option_of_the_release_is_tried_and_none_that_waits(whole: Cluster) -> None:
    some = Cases(whole, 1, HELP, ["NewField"], ())
    shown = "\n".join(step.shown() for number in range(2000) for step in some.case(number).steps)
    for word in (
        "--new-in-this-release",
        "--mem=",
        "NewField=",
        "MemPerTres=",
        "--cpus-per-task=",
        r"\xff",
        ": scontrol",
    ):
        assert word in shown, word
    assert "--wait" not in shown


def _row(tres: str, **changes: str) -> list[str]:
    values = {
        "job": "7", "array": "7", "het": "0", "state": "RUNNING", "user": "u-vision2", "account": "vision-lab",
        "partition": "short", "qos": "normal", "priority": "16000", "nice": "22000", "tres": tres, "nodes": "a40-1",
        "start": "1", "limit": "1:00:00", "restarts": "0", "reason": "None", "note": "(null)",
    }  # fmt: skip
    return [*(values | changes).values()]


@pytest.mark.parametrize(
    ("tres", "changes", "text"),
    [
        ("cpu=2,mem=2G", {}, ""),
        ("cpu=2,mem=2049M", {}, "2049M of memory, 2048M are allowed"),
        ("cpu=2,mem=64G,gres/gpu=2", {}, ""),
        ("cpu=2,mem=65G,gres/gpu=2", {}, "66560M of memory, 65536M are allowed"),
        ("cpu=64,mem=250G,gres/gpu=4", {}, ""),
        ("cpu=1,mem=1G", {"partition": "overcap"}, "account vision-lab in partition overcap"),
        ("cpu=1,mem=1G", {"limit": "3-00:00:00"}, "time limit of 259200 s, at most 172800 s"),
        ("cpu=1,mem=1G", {"priority": "2147499651", "nice": "-2147461651"}, "priority 2147499651"),
        ("cpu=1,mem=9G", {"state": "PENDING", "nodes": ""}, ""),
    ],
)  # fmt: skip
def test_the_reckoning_finds_what_a_job_holds_too_much(
    whole: Cluster, tres: str, changes: dict[str, str], text: str
) -> None:
    reasons = "; ".join(Reckoning(whole, CONF).excess(row(_row(tres, **changes))))
    assert reasons.startswith(text)
    assert bool(reasons) == bool(text)


def test_a_fault_is_a_violation_only_after_the_bound(whole: Cluster) -> None:
    invariants = Invariants(Reckoning(whole, CONF), 5)
    jobs = [row(_row("cpu=1,mem=9G"))]
    look = {"rows": [], "ping": True, "dbd": True, "error": "", "nodes": ["a40-1|mixed"]}
    for second in range(6):
        invariants.look({**look, "look": second + 1, "status": ("well", second + 1)}, jobs)
    assert not invariants.violations
    closed = {**look, "nodes": ["a40-1|drained"]}
    for second in range(6, 14):
        invariants.look({**closed, "look": second + 1, "status": ("well", second + 1)}, jobs)
    assert {violation.subject for violation in invariants.violations} == {"job 7, run 0", "node a40-1"}


def test_legal_jobs_have_amounts_within_the_inventorys(whole: Cluster) -> None:
    legal = Legal(whole, 1)
    tasks = sum(legal.case(number).tasks for number in range(100))
    assert tasks > 800
    assert legal.case(3) == Legal(whole, 1).case(3)


def test_the_inventory_has_no_complaints(tmp_path: Path) -> None:
    assert cluster(tmp_path).total_gpus == 16
