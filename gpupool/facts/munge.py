"""The munge key of a node: whether it is there and fit for use, never the key itself."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole

KEY = "/etc/munge/munge.key"


@dataclass(frozen=True)
class KeyState:
    """`sha256` is "" when there is no key; mode is octal as text; `size` in bytes."""

    sha256: str = ""
    owner: str = ""
    group: str = ""
    mode: str = ""
    size: int = 0


class MungeKey(FactBase[KeyState | None]):
    """The state of a node's munge key. None when the answer was cut short or the node did not answer."""

    def command(self) -> StringCommand:
        """Ask for the key's sum and rights."""
        return ask(
            f"if [ -f {KEY} ]; then "
            f"printf '%s %s\\n' \"$(sha256sum < {KEY} | cut -c-64)\" \"$(stat -c '%U %G %a %s' {KEY})\"; fi"
        )

    def process(self, output: list[str]) -> KeyState | None:
        """Read the answer."""
        lines = whole(output)
        if lines is None:
            return None
        if not lines:
            return KeyState()
        sha256, owner, group, mode, size = lines[0].split()
        return KeyState(sha256, owner, group, mode.zfill(4), int(size))
