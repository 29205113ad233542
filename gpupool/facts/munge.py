"""The state of a node's munge key, without the key."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shown import Shown

KEY = "/etc/munge/munge.key"


@dataclass(frozen=True)
class KeyState(Shown):
    """`sha256` is "" if there is no key; `mode` is octal text; `size` in bytes."""

    sha256: str = ""
    owner: str = ""
    group: str = ""
    mode: str = ""
    size: int = 0


class MungeKey(Fact[KeyState]):
    """The state of a node's munge key."""

    def command(self) -> StringCommand:
        """Ask for the key's sha256, owner, mode and size."""
        return ask(
            f"if [ -f {KEY} ]; then "
            f"printf '%s %s\\n' \"$(sha256sum < {KEY} | cut -c-64)\" \"$(stat -c '%U %G %a %s' {KEY})\"; fi"
        )

    def read(self, lines: list[str]) -> KeyState:
        """Read the answer."""
        if not lines:
            return KeyState()
        sha256, owner, group, mode, size = lines[0].split()
        return KeyState(sha256, owner, group, mode.zfill(4), int(size))
