"""Idle cores are noticed, and a layer that has just begun counts as busy until it was measured."""

from suite.idle import WINDOW, Idle


class Machine:
    """A machine of two cores with a clock that the test sets."""

    def __init__(self) -> None:
        self.now, self.worked = 0.0, 0.0
        self.idle = Idle(2, lambda: self.worked, lambda: self.now)

    def after(self, seconds: float, busy: float) -> float:
        """Return the idle cores after some seconds with some busy cores, measured each second."""
        cores = 0.0
        for _ in range(int(seconds)):
            self.now += 1
            self.worked += busy
            cores = self.idle.cores()
        return cores


def test_cores_are_idle_only_after_a_whole_idle_window() -> None:
    machine = Machine()
    assert machine.after(WINDOW, 0.5) == 0
    assert machine.after(1, 0.5) == 1.5


def test_only_the_last_window_counts() -> None:
    machine = Machine()
    machine.after(10 * WINDOW, 2)
    assert 0 < machine.after(WINDOW / 2, 0) < 1.5
    assert machine.after(WINDOW, 0) == 2


def test_after_a_start_cores_are_measured_for_a_whole_window() -> None:
    machine = Machine()
    assert machine.after(2 * WINDOW, 0) == 2
    machine.idle.forget()
    assert machine.after(WINDOW, 0) == 0
    assert machine.after(WINDOW, 2) == 0


def test_more_work_than_cores_leaves_no_core_idle() -> None:
    machine = Machine()
    assert machine.after(2 * WINDOW, 2.5) == 0
