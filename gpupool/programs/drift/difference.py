"""A difference as three columns: the inventory, the file on the node, and the live daemon."""

from dataclasses import asdict, dataclass
from typing import Any

#: An empty column: no file sets the value, or no daemon shows it.
NONE = "-"

# How long a difference lasts if the admin does nothing.
PUT_BACK = "the next apply puts it back"
READ_LATER = "the next apply puts it back; a restart of slurmctld before that reads it"
LOST = "until slurmctld is restarted or reconfigured; apply leaves it"
STAYS = "until a person ends it: scontrol update nodename={} state=resume"
SILENT = "until its slurmd answers, or an admin finds out why not"
HEALTH = "until the health check passes"
ARBITER = "until its cause is gone: journalctl -u gpupool-arbiter"
UNREAD = "until slurmctld is restarted or reconfigured"
BROKEN = "until the hardware is repaired"


@dataclass(frozen=True)
class Difference:
    """A difference of a node. `kind` is one word for a metric, `then` how long it lasts if the admin does nothing."""

    node: str
    kind: str
    what: str
    inventory: str
    file: str
    live: str
    then: str

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON types."""
        return asdict(self)
