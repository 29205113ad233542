"""systemd's word on a unit: whether it runs, how often it has ended, and the problem that it reports."""

from collections.abc import Mapping
from dataclasses import dataclass

_MICROSECONDS = 1_000_000
#: A unit that systemd has restarted at least this often, the last time within these seconds, ends again and again. At
#: boot, daemons restart until all that they need is available, and then stay.
_RESTARTS = 2
_RECENT = 30


@dataclass(frozen=True)
class UnitState:
    """The properties of `systemctl show` of a unit, and the uptime of its node in seconds.

    `restarts_before` is the number of restarts at an earlier look, None without one.
    """

    name: str
    shown: Mapping[str, str]
    uptime: int
    restarts_before: int | None = None

    @property
    def is_active(self) -> bool:
        """Whether the unit runs."""
        return self.shown.get("ActiveState") in ("active", "reloading", "refreshing")

    @property
    def has_failed(self) -> bool:
        """Whether the last run of the unit failed."""
        return self.shown.get("ActiveState") == "failed"

    @property
    def restarts(self) -> int:
        """How often systemd has restarted the unit."""
        return int(self.shown.get("NRestarts") or 0)

    @property
    def is_unsettled(self) -> bool:
        """Whether the unit runs since a moment ago after restarts: it stays, or ends again."""
        return self.is_active and self.restarts >= _RESTARTS and self.since("ActiveEnter") <= _RECENT

    def since(self, event: str) -> int:
        """Return the seconds since `ActiveEnter` or `Watchdog`; the uptime of the node if that never happened."""
        return self.uptime - int(self.shown.get(f"{event}TimestampMonotonic", "0")) // _MICROSECONDS

    @property
    def problem(self) -> str:
        """The fault, with the remedy; "" if the unit runs and reports no problem."""
        reason = f"`journalctl -u {self.name}` has the reason"
        if self.shown.get("LoadState") == "masked":
            return f"{self.name} is masked (`systemctl unmask {self.name}`)"
        if self.shown.get("LoadState") == "not-found":
            return f"{self.name} does not exist (`gpupool apply` installs it)"
        starts_again = self.shown.get("ActiveState") == "activating" and self.restarts >= _RESTARTS
        ended_again = self.is_unsettled and self.restarts != self.restarts_before
        if self.shown.get("SubState") == "auto-restart" or starts_again or ended_again:
            return f"{self.name} ends again and again: systemd has restarted it {self.restarts} times ({reason})"
        if self.has_failed:
            return f"{self.name} has failed: {self._result} ({reason})"
        if not self.is_active:
            state = self.shown.get("ActiveState") or "unknown"
            return f"{self.name} does not run: it is {state} (`gpupool apply` starts it)"
        return ""

    @property
    def trouble(self) -> str:
        """The problem that a running service reports; "" if it is well or waits."""
        state, _, problem = self.shown.get("StatusText", "").partition(": ")
        return problem if self.is_active and state == "unwell" else ""

    @property
    def _result(self) -> str:
        """systemd's word on the last run: exit code 1, timeout, oom-kill, …."""
        result = self.shown.get("Result", "")
        return f"exit code {self.shown.get('ExecMainStatus', '?')}" if result == "exit-code" else result or "unknown"
