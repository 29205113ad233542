"""Complaints of verify about a unit: systemd's word, and the problem that a service reports."""

from dataclasses import replace

import pytest

from gpupool.verify.unit_state import UnitState

NAME = "gpupool-arbiter.service"
HOUR = 3600
UPTIME = 2 * HOUR


def unit(**shown: str) -> UnitState:
    """Return a service with these properties; the machine has run for two hours, the service for half of that."""
    service = {
        **{"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "NRestarts": "0"},
        **{"StatusText": "well", "ActiveEnterTimestampMonotonic": str(HOUR * 1_000_000)},
        **shown,
    }
    return UnitState(NAME, service, UPTIME)


def since(seconds: int) -> str:
    return str((UPTIME - seconds) * 1_000_000)


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({"ActiveState": "inactive"}, f"{NAME} does not run: it is inactive (`gpupool apply` starts it)"),
        (
            {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "1"},
            f"{NAME} has failed: exit code 1 (`journalctl -u {NAME}` has the reason)",
        ),
        (
            {"ActiveState": "failed", "Result": "oom-kill"},
            f"{NAME} has failed: oom-kill (`journalctl -u {NAME}` has the reason)",
        ),
        ({"LoadState": "masked", "ActiveState": "inactive"}, f"{NAME} is masked (`systemctl unmask {NAME}`)"),
        (
            {"LoadState": "not-found", "ActiveState": "inactive"},
            f"{NAME} does not exist (`gpupool apply` installs it)",
        ),
        ({"ActiveState": ""}, f"{NAME} does not run: it is unknown (`gpupool apply` starts it)"),
    ],
)
def test_a_unit_that_does_not_run_is_named_with_the_remedy(shown: dict[str, str], message: str) -> None:
    assert unit(**shown).problem == message


def test_a_unit_that_stays_after_restarts_has_no_problem() -> None:
    started = unit(NRestarts="2", ActiveEnterTimestampMonotonic=since(12))
    assert started.is_unsettled
    assert replace(started, restarts_before=2).problem == ""
    assert "ends again and again" in replace(started, restarts_before=1).problem


@pytest.mark.parametrize(
    "shown",
    [
        {"NRestarts": "53", "ActiveEnterTimestampMonotonic": since(5)},
        {"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "53"},
        {
            "ActiveState": "activating",
            "SubState": "start-pre",
            "NRestarts": "53",
            "ActiveEnterTimestampMonotonic": since(5),
        },
    ],
)
def test_a_crash_loop_is_named_while_the_service_runs_and_while_it_waits(shown: dict[str, str]) -> None:
    assert unit(**shown).problem.startswith(f"{NAME} ends again and again: systemd has restarted it 53 times")


def test_a_restart_that_has_helped_is_no_problem() -> None:
    assert unit(NRestarts="1", ActiveEnterTimestampMonotonic=since(5)).problem == ""
    assert unit(NRestarts="53").problem == ""


@pytest.mark.parametrize(
    "status", ["well", "waiting: this controller is not the active one", "", "well: nothing to do"]
)
def test_a_service_that_is_well_or_waits_passes(status: str) -> None:
    assert unit(StatusText=status).problem == unit(StatusText=status).trouble == ""


@pytest.mark.parametrize("problem", ["doing nothing: squeue: gone", "jobs held: 7=8 of u-x"])
def test_an_unwell_service_is_named_with_the_reason(problem: str) -> None:
    assert unit(StatusText=f"unwell: {problem}").trouble == problem
    assert unit(StatusText=f"unwell: {problem}", ActiveState="failed").trouble == ""
