"""Home directories: whose they are and which keys they let in, all in one look."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole

_LOOK = r"""
for home in "$@"; do
  [ -d "$home" ] || continue
  stat -c 'home %u %g %a %n' -- "$home"
  keys=$home/.ssh/authorized_keys
  # it is the user's own, who may have put a link there to a server that is away
  if [ -L "$home/.ssh" ] || [ -L "$keys" ]; then
    timeout -s KILL 5 sh -c '[ -f "$1" ] && sed "s/^/key /" < "$1"' sh "$keys"
  elif [ -f "$keys" ]; then sed 's/^/key /' < "$keys"; fi
done
"""


@dataclass(frozen=True)
class HomeState:
    """Numeric owner and group, mode as octal text, and the lines of ~/.ssh/authorized_keys."""

    uid: int
    gid: int
    mode: str
    keys: tuple[str, ...] = ()


class Homes(FactBase[dict[str, HomeState] | None]):
    """Path to state of the homes that are there. None when the node did not answer."""

    def command(self, paths: list[str]) -> StringCommand:
        """Ask for each path."""
        return ask(f"{_LOOK.strip()}\ntrue", *paths)

    def process(self, output: list[str]) -> dict[str, HomeState] | None:
        """Read the answer."""
        lines = whole(output)
        if lines is None:
            return None
        found: dict[str, HomeState] = {}
        path = ""
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind == "home":
                uid, gid, mode, path = rest.split(" ", 3)
                found[path] = HomeState(int(uid), int(gid), mode.zfill(4))
            elif kind == "key" and path:
                now = found[path]
                found[path] = HomeState(now.uid, now.gid, now.mode, (*now.keys, rest.strip()))
        return found
