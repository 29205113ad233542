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
    """The properties of `systemctl show` of a unit, and the uptime of its node in seconds."""

    name: str
    shown: Mapping[str, str]
    uptime: int

    @property
    def is_active(self) -> bool:
        """Whether the unit runs."""
        return self.shown.get("ActiveState") in ("active", "reloading", "refreshing")

    @property
    def has_failed(self) -> bool:
        """Whether the last run of the unit failed."""
        return self.shown.get("ActiveState") == "failed"

    def since(self, event: str) -> int:
        """Return the seconds since `ActiveEnter` or `Watchdog`; the uptime of the node if that never happened."""
        return self.uptime - int(self.shown.get(f"{event}TimestampMonotonic", "0")) // _MICROSECONDS

    @property
    def problem(self) -> str:
        """The fault, with the remedy; "" if the unit runs and reports no problem."""
        reason = f"`journalctl -u {self.name}` has the reason"
        restarts = int(self.shown.get("NRestarts") or 0)
        if self.shown.get("LoadState") == "masked":
            return f"{self.name} is masked (`systemctl unmask {self.name}`)"
        if self.shown.get("LoadState") == "not-found":
            return f"{self.name} does not exist (`gpupool apply` installs it)"
        starts_now = self.shown.get("ActiveState") == "activating" or self.since("ActiveEnter") <= _RECENT
        ends_again = restarts >= _RESTARTS and starts_now
        if self.shown.get("SubState") == "auto-restart" or ends_again:
            return f"{self.name} ends again and again: systemd has restarted it {restarts} times ({reason})"
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
