"""One difference as three columns: what the inventory says, what the file on the node says, and what is live."""

from dataclasses import asdict, dataclass
from typing import Any

#: A column where there is nothing to say: no file is about it, or it has no live side.
NONE = "-"

# What happens if nothing is done.
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
    """What differs on a node. `kind` is one word for a metric, `then` what happens if nothing is done."""

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
