"""The documents of `maintain`, `onboard` and `retire`, which take nodes out of service or into it."""

from typing_extensions import TypedDict


class MaintainedEntry(TypedDict):
    """The end of one node."""

    phase: str
    """The last phase: `done`, `nothing to do`, `left alone`, `failed`, or the one in which it was stopped."""
    why: str
    """The reason, in one line; empty if there is nothing to say."""
    changes: list[str]
    """The changes that were made, as text."""


class ShareEntry(TypedDict):
    """The share of one lab."""

    lab: str
    """The lab's account."""
    owns: int
    """Number that the lab owns, in `unit`."""
    unit: str
    """`GPUs`, `CPUs` or `nodes`."""
    may_lack: int
    """Number that the lab may lack at once at most, in `unit`."""


class MaintainDocument(TypedDict):
    """The maintained nodes."""

    ok: bool
    """Whether all nodes are maintained."""
    seconds: float
    """Duration, in seconds."""
    nodes: dict[str, MaintainedEntry]
    """The end of each node, in the order of the inventory."""
    labs: list[ShareEntry]
    """The number that each lab may lack meanwhile."""


class OnboardDocument(TypedDict):
    """The machines that are in service now."""

    joined: list[str]
    """The new nodes."""
    commands: dict[str, int]
    """Number of commands that were sent, by node."""
    later: dict[str, int]
    """Number of files that other nodes get with the next apply, by node."""


class RetireDocument(TypedDict):
    """The nodes that are no longer in the cluster."""

    retired: list[str]
    """The former nodes."""
    commands: dict[str, int]
    """Number of commands that were sent, by node."""
    left: dict[str, str]
    """Why daemons or files could not be removed, in one line, by node."""
    later: dict[str, int]
    """Number of files that other nodes get with the next apply, by node."""
