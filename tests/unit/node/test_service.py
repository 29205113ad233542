"""The problem that a service reports to systemd."""

import pytest

from gpupool.node.service import question, trouble


@pytest.mark.parametrize(
    "status", ["well", "waiting: this controller is not the active one", "", "well: nothing to do"]
)
def test_a_service_that_is_well_or_waits_has_no_trouble(status: str) -> None:
    assert trouble(f"ActiveState=active\nStatusText={status}\n100") == ""


def test_only_an_active_service_reports_a_problem() -> None:
    status = "StatusText=unwell: the guard does nothing: squeue: gone"
    assert trouble(f"ActiveState=active\n{status}\n100") == "the guard does nothing: squeue: gone"
    assert trouble(f"ActiveState=failed\n{status}\n100") == trouble("100") == trouble("") == ""


def test_the_question_names_the_service() -> None:
    assert "gpupool-arbiter.service" in question("gpupool-arbiter.service")
