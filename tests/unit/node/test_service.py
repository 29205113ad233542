"""Complaints of verify about a service."""

import pytest

from gpupool.node.service import complaint, question, trouble

NAME = "gpupool-arbiter.service"
HOUR = 3600


def complaint_with(**shown: str) -> str:
    """Return the complaint about a service with these properties; the machine has run for two hours."""
    service = {
        **{"ActiveState": "active", "NRestarts": "0", "StatusText": "well"},
        "ActiveEnterTimestampMonotonic": str(HOUR * 500_000),
        **shown,
    }
    return complaint(NAME, "\n".join([*(f"{key}={value}" for key, value in service.items()), str(2 * HOUR)]))


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({"ActiveState": "failed"}, f"{NAME} is failed"),
        ({"ActiveState": "activating"}, f"{NAME} is activating"),
        (
            {"NRestarts": "53", "ActiveEnterTimestampMonotonic": str((2 * HOUR - 5) * 1_000_000)},
            f"{NAME} has ended 53 times, the last time 5 s ago",
        ),
        ({"StatusText": "unwell: doing nothing: squeue: gone"}, f"{NAME}: doing nothing: squeue: gone"),
        ({"StatusText": "unwell: jobs held: 7=8 of u-x"}, f"{NAME}: jobs held: 7=8 of u-x"),
    ],
)
def test_an_unwell_service_is_named_with_the_reason(shown: dict[str, str], message: str) -> None:
    assert complaint_with(**shown) == message


@pytest.mark.parametrize(
    "status", ["well", "waiting: this controller is not the active one", "", "well: nothing to do"]
)
def test_a_service_that_is_well_or_waits_passes(status: str) -> None:
    assert complaint_with(StatusText=status) == complaint_with(StatusText=status, NRestarts="2") == ""
    assert trouble(f"ActiveState=active\nStatusText={status}\n100") == ""


def test_only_an_active_service_reports_a_problem() -> None:
    status = "StatusText=unwell: the guard does nothing: squeue: gone"
    assert trouble(f"ActiveState=active\n{status}\n100") == "the guard does nothing: squeue: gone"
    assert trouble(f"ActiveState=failed\n{status}\n100") == trouble("100") == trouble("") == ""


def test_a_service_unknown_to_systemd_is_named() -> None:
    assert complaint(NAME, "100") == f"{NAME} is unknown"
    assert NAME in question(NAME)
