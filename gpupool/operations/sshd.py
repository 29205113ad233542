"""sshd as a daemon, and its settings as sshd evaluates them: the first file with a keyword decides."""

from collections.abc import Sequence

from gpupool.facts.service import Unit
from gpupool.facts.sshd import Overridden, Overrides
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import WAITS, Commands, Refused, look, operation
from gpupool.operations.service import bring_up, named


@operation
def running(unit: str, reload_if: list[str]) -> Commands:
    """Have sshd's unit run with these files, and start at boot; sessions stay.

    sshd that systemd's socket has started loses its port in a reload ("Cannot bind any address"), so it is restarted:
    connections wait in the socket meanwhile. A unit that the enabled socket starts is not enabled itself.
    """
    yield from _bring_up(unit, reload_if, start=True)


@operation
def reloaded(unit: str, reload_if: list[str]) -> Commands:
    """Have sshd's unit read these files if it runs. A unit that does not run is not started."""
    yield from _bring_up(unit, reload_if, start=False)


def _bring_up(unit: str, paths: list[str], *, start: bool) -> Commands:
    wanted = named(unit, start or None, reload_if=paths)
    socket = look(Unit, f"the state of {wanted.unit} from systemd", unit=wanted.unit, paths=wanted.paths).socket
    if socket.now:
        wanted = named(unit, None if socket.at_boot or not start else True, restart_if=paths)
    yield from bring_up(wanted, start=start)


@operation
def in_force(path: str, text: str, users: Sequence[str]) -> None:
    """Refuse if sshd has other settings than those of its drop-in with this path and text, for one of these users.

    Nothing is changed: the file that decides is the site's. All other operations are done before the refusal counts.
    """
    if overridden := look(Overrides, "sshd's settings", path=path, text=text, users=users):
        each = "; ".join(_sentence(setting) for setting in overridden)
        raise Refused(f"sshd does not follow {path}: {each}. Remove these lines, then apply again", WAITS)
    this_host().noop("sshd's settings: as wanted")


def _sentence(setting: Overridden) -> str:
    where = f", from {' and '.join(setting.files)}, which sshd reads first" if setting.files else ""
    now = ", ".join(setting.now) or "nothing"
    return f"{setting.keyword} is {now}{where}; the inventory has {', '.join(setting.wanted)}"
