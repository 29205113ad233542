"""A node gets users' jobs only after checks by slurmctld, by the node itself and by a job on all its GPUs."""

from dataclasses import replace

import pytest
from fake_controller import FakeController
from inventories import SMALL, cluster_at

from gpupool.cluster.node import Node
from gpupool.cluster.schema.labs import Amounts, Limits
from gpupool.remote.controller import RefusedError
from gpupool.run.observer import Observer
from gpupool.slurm.nodes import NodeState
from gpupool.upkeep.accept import Acceptance, accept, registered
from gpupool.upkeep.drain import drain
from gpupool.upkeep.reserve import reserve
from gpupool.upkeep.state import states

NAME = "gpupool_maintain"


@pytest.fixture
def ready(fake: FakeController) -> FakeController:
    """Both nodes are drained by us, and in the reservation."""
    nodes = fake.target.cluster.having("compute")
    drain(fake, nodes, "maintain", "x")
    reserve(fake, NAME, nodes)
    fake.asked.clear()
    return fake


def accepted(fake: FakeController, *nodes: Node, work: str = "maintain") -> dict[str, tuple[str, ...]]:
    chosen = nodes or tuple(fake.target.cluster.having("compute"))
    return {name: result.problems for name, result in accept(fake, chosen, work, NAME).items()}


def test_a_healthy_node_is_resumed_and_runs_a_job_on_all_its_gpus(ready: FakeController) -> None:
    assert accepted(ready) == {"gpu-1": (), "gpu-2": ()}
    assert ready.did("^scontrol (create|delete) partition") == [
        "scontrol create partitionname=gpupool_maintain 'nodes=gpu-[1-2]' rootonly=yes hidden=yes maxtime=10 state=up",
        "scontrol delete partitionname=gpupool_maintain",
    ]
    jobs = {node: text for node, text in ready.asked if text.startswith("srun")}
    assert jobs["gpu-1"].startswith(
        "srun --quiet --nodes=1 --ntasks=1 --cpus-per-task=1 --nodelist=gpu-1 --chdir=/ --time=5 "
        "--job-name=gpupool-test --partition=gpupool_maintain --reservation=gpupool_maintain --qos=normal "
        "--gres=gpu:a40:8 python3 -I - cuda 8 /dev/nvidia0 "
    )
    assert {*jobs} == {"gpu-1", "gpu-2"}
    assert not any(state.drained for state in states(ready, ready.target.cluster.having("compute")).values())


def test_a_node_is_resumed_before_its_test_job_and_checked_before_that(ready: FakeController) -> None:
    accepted(ready, ready.target.cluster.nodes["gpu-1"])
    order = [text.split()[0:2] for _, text in ready.asked if text.startswith(("look", "scontrol update", "srun"))]
    assert [words[0] for words in order] == ["look", "scontrol", "srun"]


def test_a_fault_keeps_the_node_drained_without_a_test_job(ready: FakeController) -> None:
    ready.problems["gpu-1"] = ["no device file /dev/nvidia3", "/home is not mounted"]
    found = accepted(ready)
    assert found == {"gpu-1": ("no device file /dev/nvidia3", "/home is not mounted"), "gpu-2": ()}
    assert not Acceptance("gpu-1", found["gpu-1"]).ok
    assert Acceptance("gpu-2").ok
    assert "DRAIN" in ready.slurm.nodes["gpu-1"].flags
    assert [node for node, text in ready.asked if text.startswith("srun")] == ["gpu-2"]


def test_a_test_job_that_fails_drains_the_node_again_with_the_reason(ready: FakeController) -> None:
    ready.slurm.nodes["gpu-2"].test = "GPU 0: memory error\nGPU 1: memory error"
    assert accepted(ready) == {"gpu-1": (), "gpu-2": ("GPU 0: memory error", "GPU 1: memory error")}
    assert ready.slurm.nodes["gpu-2"].reason == "gpupool: maintain: failed: GPU 0: memory error"
    assert "DRAIN" in ready.slurm.nodes["gpu-2"].flags
    assert "DRAIN" not in ready.slurm.nodes["gpu-1"].flags


def test_a_node_whose_test_job_does_not_start_is_not_accepted(ready: FakeController) -> None:
    ready.slurm.nodes["gpu-1"].gres = "gpu:a40:8"
    ready.refused["--nodelist=gpu-1"] = "error: Unable to allocate resources: Requested nodes are busy"
    found = accepted(ready)
    assert found["gpu-1"][0].startswith("the test job failed: gpu-1: srun: error: Unable to allocate resources")
    assert "DRAIN" in ready.slurm.nodes["gpu-1"].flags


def test_a_node_that_stops_answering_before_its_test_job_is_not_accepted(ready: FakeController) -> None:
    class Silent(Observer):
        def step(self, node: str, what: str) -> None:
            if "test job" in what:
                ready.silent.add("gpu-1")

    node = ready.target.cluster.nodes["gpu-1"]
    found = accept(ready, [node], "maintain", NAME, Silent())
    assert found["gpu-1"].problems == ("the test job did not run: gpu-1: no answer in 300 s",)
    assert "DRAIN" in ready.slurm.nodes["gpu-1"].flags


def test_a_node_that_does_not_answer_is_named_and_the_other_is_accepted(ready: FakeController) -> None:
    ready.silent.add("gpu-1")
    assert accepted(ready) == {"gpu-1": ("gpu-1: no answer in 180 s",), "gpu-2": ()}


def test_a_node_drained_by_others_is_reported_and_not_resumed(ready: FakeController) -> None:
    ready.slurm.drain("gpu-1", "disk is replaced")
    (problem,) = accepted(ready)["gpu-1"]
    assert problem.startswith("it is drained by others: disk is replaced")
    assert ready.slurm.nodes["gpu-1"].reason == "disk is replaced"
    assert [node for node, text in ready.asked if text.startswith("srun")] == ["gpu-2"]


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_a_wrong_clock_is_a_problem(ready: FakeController, seconds: float) -> None:
    ready.ahead["gpu-1"] = seconds
    (problem,) = accepted(ready)["gpu-1"]
    assert problem.startswith("its clock is 3600 s ")


def test_the_partition_of_a_killed_run_is_used_and_removed(ready: FakeController) -> None:
    ready.slurm.partitions[NAME] = ["gpu-1"]
    assert accepted(ready) == {"gpu-1": (), "gpu-2": ()}
    assert "scontrol update partitionname=gpupool_maintain 'nodes=gpu-[1-2]'" in ready.acts()
    assert ready.slurm.partitions == {}


def test_a_partition_that_cannot_be_removed_does_not_undo_the_acceptance(ready: FakeController) -> None:
    ready.refused["delete partition"] = "Partition is in use"
    assert accepted(ready) == {"gpu-1": (), "gpu-2": ()}


def test_a_partition_that_can_be_neither_created_nor_changed_is_an_error(ready: FakeController) -> None:
    ready.refused["partitionname="] = "Access/permission denied"
    with pytest.raises(RefusedError, match="permission denied"):
        accepted(ready)


def test_if_no_node_passes_no_partition_is_created(ready: FakeController) -> None:
    ready.problems = {"gpu-1": ["x"], "gpu-2": ["y"]}
    accepted(ready)
    assert ready.did("partitionname") == []


def test_without_gpus_the_job_only_starts_and_without_a_reservation_it_requests_none(fake: FakeController) -> None:
    node = replace(fake.target.cluster.nodes["gpu-1"], gpus={}, devices=())
    fake.slurm.nodes["gpu-1"].gres = "(null)"
    assert accept(fake, [node], "maintain", "")["gpu-1"].problems == ()
    (job,) = fake.did("^srun")
    assert job.endswith(" --qos=normal true")
    assert "--reservation" not in job


def test_if_every_qos_has_limits_the_test_job_names_none(ready: FakeController) -> None:
    cluster = ready.target.cluster
    limited = {
        name: settings.model_copy(update={"limits": Limits(per_user=Amounts(jobs=1))})
        for name, settings in cluster.qos.items()
    }
    ready.target = replace(ready.target, cluster=replace(cluster, qos=limited))
    accepted(ready)
    assert not any("--qos" in job for job in ready.did("^srun"))


NODE = cluster_at(SMALL).nodes["gpu-1"]
FINE = NodeState(frozenset({"IDLE"}), cpus=NODE.cpus, memory=NODE.memory or 0, gres="gpu:a40:8(S:0)")


@pytest.mark.parametrize(
    ("state", "problems"),
    [
        (FINE, ()),
        (None, ("slurmctld does not know node gpu-1",)),
        (
            replace(FINE, flags=frozenset({"IDLE", "NOT_RESPONDING"})),
            ("slurmctld gets no answer from it: IDLE+NOT_RESPONDING",),
        ),
        (
            replace(FINE, flags=frozenset({"DOWN"}), reason="no power"),
            ("slurmctld gets no answer from it: DOWN no power",),
        ),
        (
            replace(FINE, flags=frozenset({"INVAL"}), reason="gres/gpu count"),
            ("slurmd registered with other hardware than in slurm.conf: gres/gpu count",),
        ),
        (
            replace(FINE, flags=frozenset({"IDLE", "INVALID_REG"}), reason="Low RealMemory"),
            ("slurmd registered with other hardware than in slurm.conf: Low RealMemory",),
        ),
        (replace(FINE, cpus=32), ("Slurm has 32 CPUs, the inventory 64",)),
        (replace(FINE, gres="gpu:a40:7"), ("Slurm has the GPUs {'a40': 7}, the inventory {'a40': 8}",)),
        (
            replace(FINE, gres="", cpus=1),
            ("Slurm has 1 CPUs, the inventory 64", "Slurm has the GPUs none, the inventory {'a40': 8}"),
        ),
    ],
)
def test_the_registered_hardware_is_compared_with_the_inventory(
    state: NodeState | None, problems: tuple[str, ...]
) -> None:
    assert registered(NODE, state) == problems
