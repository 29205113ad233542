"""A change of a node as a value: the item, its wanted state and its actual state.

Operations make these values, the engine adds the step and the effect, and `gpupool.wording` turns them into text.
No code reads a note.
"""

from dataclasses import dataclass
from enum import StrEnum

from gpupool.effect import NOTHING, Effect

PRESENT, ABSENT = "present", "absent"


class Kind(StrEnum):
    """The kind of item that a change is about; also a label of a metric."""

    ACCOUNTING = "accounting"
    FILE = "file"
    HARDWARE = "hardware"
    LINK = "link"
    MOUNT = "mount"
    OTHER = "other"
    PACKAGE = "package"
    SERVICE = "service"
    SLURM = "slurm"
    STATE = "state"
    USER = "user"
    ZFS = "zfs"


@dataclass(frozen=True)
class Aspect:
    """One property of an item, or the item itself if `name` is empty: its wanted and its actual value.

    `note` is shown instead of the two values, `diff` is the unified diff of a text. `follows`: the property differs
    only because of another change in the same plan.
    """

    wanted: str = PRESENT
    actual: str = ABSENT
    name: str = ""
    note: str = ""
    diff: str = ""
    follows: bool = False


@dataclass(frozen=True)
class Change:
    """One item of a node that differs from its wanted state, with its properties.

    `act` is the verb if the item itself does not change ("restart"). `refused`: gpupool does not make this change.
    `step` is the operation ("Role | Operation"), `effect` the effect of the change on daemons and jobs.
    """

    kind: Kind
    item: str
    aspects: tuple[Aspect, ...] = (Aspect(),)
    act: str = ""
    refused: bool = False
    step: str = ""
    effect: Effect = NOTHING

    @property
    def name(self) -> str:
        """The item as it is listed: "restart munge.service"."""
        return f"{self.act} {self.item}".lstrip() + (" (refused)" if self.refused else "")

    @property
    def operation(self) -> str:
        """The step and the item: "Munge | Services | restart munge.service"."""
        return " | ".join(part for part in (self.step, self.name) if part)

    @property
    def wanted(self) -> str:
        """The wanted values of all properties."""
        return ", ".join(dict.fromkeys(_pair(each.name, each.wanted) for each in self.aspects))

    @property
    def actual(self) -> str:
        """The actual values of all properties."""
        return ", ".join(dict.fromkeys(_pair(each.name, each.actual) for each in self.aspects))


def _pair(name: str, value: str) -> str:
    return f"{name}={value}" if name else value
