"""The munge key of a node: whether it is there and fit for use, never the key itself."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask

KEY = "/etc/munge/munge.key"


@dataclass(frozen=True)
class KeyState:
    """`sha256` is "" when there is no key; mode is octal as text; `size` in bytes."""

    sha256: str = ""
    owner: str = ""
    group: str = ""
    mode: str = ""
    size: int = 0


class MungeKey(Look[KeyState]):
    """The state of a node's munge key."""

    def command(self) -> StringCommand:
        """Ask for the key's sum and rights."""
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
