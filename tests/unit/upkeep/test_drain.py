"""Nodes are drained with a reason of gpupool, a drain by others stays, and no node is taken while a job uses it."""

import pytest
from fake_controller import FakeController

from gpupool.cluster.node import Node
from gpupool.remote.controller import NoAnswerError, RefusedError
from gpupool.run.observer import Observer
from gpupool.slurm.jobs import Job
from gpupool.upkeep.drain import LOOK_SECONDS, Moved, drain, jobs_in_brief, resume, wait_until_empty
from gpupool.upkeep.state import by_node, jobs, states


def nodes(fake: FakeController) -> list[Node]:
    return fake.target.cluster.having("compute")


def test_a_node_is_drained_with_our_reason_and_resumed(fake: FakeController) -> None:
    assert drain(fake, nodes(fake), "maintain", "2 changes") == Moved(("gpu-1", "gpu-2"), {})
    assert fake.acts()[0] == "scontrol update nodename=gpu-1 state=drain 'reason=gpupool: maintain: 2 changes'"
    assert all(state.is_ours("maintain") for state in states(fake, nodes(fake)).values())
    assert resume(fake, nodes(fake), "maintain") == Moved(("gpu-1", "gpu-2"), {})
    assert fake.acts()[2:] == [f"scontrol update nodename=gpu-{n} state=undrain" for n in (1, 2)]
    assert not any(state.drained for state in states(fake, nodes(fake)).values())


def test_a_drain_by_others_keeps_its_reason_and_is_not_resumed(fake: FakeController) -> None:
    fake.slurm.drain("gpu-1", "disk is replaced")
    fake.slurm.drain("gpu-2", "gpupool: upgrade: Slurm 26.05", by="root")
    moved = drain(fake, nodes(fake), "maintain", "x")
    assert {name: why.split(" [")[0] for name, why in moved.kept.items()} == {
        "gpu-1": "disk is replaced",
        "gpu-2": "gpupool: upgrade: Slurm 26.05",
    }
    assert resume(fake, nodes(fake), "maintain").done == ()
    assert fake.acts() == []
    assert {node.reason for node in fake.slurm.nodes.values()} == {"disk is replaced", "gpupool: upgrade: Slurm 26.05"}


def test_a_drain_whose_reason_an_admin_changed_is_theirs(fake: FakeController) -> None:
    fake.slurm.drain("gpu-1", "gpupool: maintain: x", by="operator")
    assert [*resume(fake, nodes(fake)[:1], "maintain").kept] == ["gpu-1"]
    assert fake.acts() == []


def test_a_node_in_service_is_not_resumed_again(fake: FakeController) -> None:
    assert resume(fake, nodes(fake), "maintain").done == ("gpu-1", "gpu-2")
    assert fake.acts() == []


def test_without_nodes_slurmctld_is_not_called(fake: FakeController) -> None:
    assert drain(fake, [], "maintain", "x") == Moved((), {})
    wait_until_empty(fake, [], Looks())
    assert jobs(fake, []) == ()
    assert states(fake, []) == {}
    assert fake.asked == []


def test_a_node_unknown_to_slurmctld_is_refused(fake: FakeController) -> None:
    del fake.slurm.nodes["gpu-2"]
    with pytest.raises(RefusedError, match="Node gpu-2 not found"):
        drain(fake, nodes(fake), "maintain", "x")


def test_without_slurmctld_no_node_counts_as_drained(fake: FakeController) -> None:
    fake.slurm.away = True
    with pytest.raises(NoAnswerError, match=r"no controller answers: ctl: .*Unable to contact slurm controller"):
        drain(fake, nodes(fake), "maintain", "x")


class Looks(Observer):
    """Records the pending nodes at each look."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def step(self, node: str, what: str) -> None:
        self.seen.append(f"{node}: {what}")


def test_jobs_are_waited_for_until_the_last_has_ended(fake: FakeController) -> None:
    job = fake.slurm.run_job("gpu-2")
    fake.clock.after(LOOK_SECONDS * 2 - 1, lambda: fake.slurm.jobs.remove(job))
    looks = Looks()
    wait_until_empty(fake, nodes(fake), looks)
    assert looks.seen == ["gpu-2: waiting for 1 job (1 of ann until 2026-11-26 14:58)"] * 2
    assert fake.acts() == [], "no job is ended"


@pytest.mark.parametrize(
    ("count", "ends", "brief"),
    [
        (1, "", "1 job (1 of ann without a time limit)"),
        (2, "2026-11-23T18:00:00", "2 jobs (1 of ann until 2026-11-23 18:00, 2 of ann until 2026-11-23 18:00)"),
        (
            4,
            "",
            "4 jobs (1 of ann without a time limit, 2 of ann without a time limit, 3 of ann without a time limit, …)",
        ),
    ],
)
def test_the_jobs_of_a_node_are_summarised(count: int, ends: str, brief: str) -> None:
    jobs = [Job(str(number + 1), "ann", "red", ("gpu-1",), ends) for number in range(count)]
    assert jobs_in_brief(jobs) == brief


@pytest.mark.parametrize("ends", ["N/A", "Unknown", "NOT_SET"])
def test_a_job_on_several_nodes_is_on_each_of_them_and_may_have_no_end(fake: FakeController, ends: str) -> None:
    fake.slurm.run_job("gpu-1", ends=ends).nodes = ("gpu-1", "gpu-2")
    found = jobs(fake, nodes(fake))
    assert found == (Job("1", "ann", "red", ("gpu-1", "gpu-2"), ""),)
    assert by_node(found, nodes(fake)) == {"gpu-1": found, "gpu-2": found}
    assert by_node((), nodes(fake)) == {"gpu-1": (), "gpu-2": ()}
