"""The choice before the first drain: nodes left alone, nodes begun by an earlier run, and nodes out of service."""

import pytest
from fake_controller import FakeController

from gpupool.slurm.nodes import NodeState
from gpupool.upkeep.choice import begun, first_look, out_of_service
from gpupool.upkeep.reserve import Reservation
from gpupool.upkeep.state import states

OURS = NodeState(frozenset({"IDLE", "DRAIN"}), "gpupool: maintain: 2 changes", "root")
IDLE = NodeState(frozenset({"IDLE"}))


def test_nodes_drained_by_us_or_in_our_reservation_are_begun(fake: FakeController) -> None:
    nodes = fake.target.cluster.having("compute")
    assert begun({"gpu-1": OURS, "gpu-2": IDLE}, None, nodes) == ["gpu-1"]
    assert begun({"gpu-1": IDLE}, Reservation("gpupool_maintain", ("gpu-2",), 1), nodes) == ["gpu-2"]
    assert begun({}, None, nodes) == []


@pytest.mark.parametrize(
    ("state", "started", "phase", "why"),
    [
        (IDLE, False, "waiting", ""),
        (OURS, True, "waiting", ""),
        (None, False, "left alone", "slurmctld does not know it: apply first"),
        (NodeState(frozenset({"IDLE", "DRAIN"}), "disk", "ann"), False, "left alone", "drained by others: disk"),
        (NodeState(frozenset({"IDLE", "DRAIN"})), False, "left alone", "drained by others: without a reason"),
        (NodeState(frozenset({"DOWN"}), "no power"), False, "left alone", "DOWN: no power"),
        (
            NodeState(frozenset({"IDLE", "NOT_RESPONDING"})),
            False,
            "left alone",
            "IDLE+NOT_RESPONDING: no answer from slurmd",
        ),
        (NodeState(frozenset({"UNKNOWN"})), False, "left alone", "UNKNOWN: no answer from slurmd"),
        # it was rebooting when the earlier run ended
        (NodeState(frozenset({"DOWN", "REBOOT_ISSUED"})), True, "waiting", ""),
    ],
)
def test_a_node_waits_or_is_left_alone_with_the_reason(
    fake: FakeController, state: NodeState | None, started: bool, phase: str, why: str
) -> None:
    node = fake.target.cluster.nodes["gpu-1"]
    known = {} if state is None else {"gpu-1": state}
    progress = first_look([node], known, ["gpu-1"] if started else [])["gpu-1"]
    assert (progress.phase, progress.why, progress.node) == (phase, why, node)


def test_compute_nodes_where_no_job_can_start_are_out_of_service(fake: FakeController) -> None:
    fake.slurm.drain("gpu-2", "disk")
    known = states(fake, fake.target.cluster.having("compute"))
    assert out_of_service(fake, known) == {"gpu-2"}
    assert out_of_service(fake, {}) == set(), "a node unknown to slurmctld was never in service"
