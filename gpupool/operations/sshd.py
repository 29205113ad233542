"""sshd's settings as sshd evaluates them: the first file with a keyword decides, which may be another drop-in."""

from collections.abc import Sequence

from gpupool.facts.sshd import Overridden, Overrides
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import WAITS, Refused, look, operation


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
