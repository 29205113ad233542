"""The documents of `plan`, `apply` and `restore`, with the result of each node."""

from typing_extensions import TypedDict


class ChangeEntry(TypedDict):
    """One change of a node, planned or made."""

    operation: str
    """Step and item, as the screen shows them: `Munge | Services | restart munge.service`."""
    kind: str
    """Kind of the item, in one word: `file`, `package`, `service`, `mount`, `user`."""
    item: str
    """The item: a path, a package, a unit."""
    wanted: str
    """The state in the inventory."""
    actual: str
    """The state on the node; empty if it has nothing."""
    refused: bool
    """Whether gpupool will not make this change."""
    effect: str
    """Effect on daemons and jobs: `nothing`, `reconfigure`, `restart slurmd`, `drain`; several have commas between."""
    jobs: list[str]
    """Jobs that delay the change, or that it would end: `33 of u-kira1`."""

    diff: str | None
    """The difference as lines that begin with `-` and `+`; null if there is none to show."""


class HostEntry(TypedDict):
    """The result of one node."""

    ok: bool
    """Whether the node did not fail."""
    failure: str | None
    """Why the node failed, in one line for people."""
    reason: str | None
    """Why the node failed, in one word: `failed`, `refused`, `held`, `unreachable`, `busy`, `unit-down`, `waits`,
    `needs-reboot`."""
    effect: str
    """The effects of all changes of the node, also of changes that wait for a drained node."""
    jobs: list[str]
    """Jobs that delay changes, or that changes would end: `33 of u-kira1`."""
    notes: list[str]
    """Messages without a change."""
    changes: list[ChangeEntry]
    """The changes, in the order in which they are made."""
    commands: int
    """Number of commands that were sent to the node."""
    seconds: float
    """Time spent on the node, in seconds."""


class ReportDocument(TypedDict):
    """The result of a run: of `restore` on the database's node."""

    ok: bool
    """Whether no node failed."""
    interrupted: bool
    """Whether Ctrl-C ended the run."""
    seconds: float
    """Duration of the run, in seconds."""
    asleep: list[str]
    """Nodes that Slurm has powered down. They are skipped, and `hosts` does not have them."""
    out_of_service: list[str]
    """Nodes out of service that cannot be reached; `hosts` does not have them."""
    hosts: dict[str, HostEntry]
    """The result of each node, in the order of the inventory."""


class RunDocument(ReportDocument):
    """The changes of each node: planned by `plan`, made by `apply`."""

    changed: bool
    """Whether at least one node has a change."""


class RecoveryDocument(ReportDocument):
    """The result of `restore --controller`."""

    restored: list[str]
    """The lost parts that were restored, as text."""
    ends: list[str]
    """Ids of running jobs that the restored queue does not have, so that they ended."""
    forgets: list[str]
    """Ids of other jobs that the restored queue does not have."""


class RowEntry(TypedDict):
    """One line of the comparison."""

    what: str
    """The things that are counted."""
    restored: int
    """The number in the restored database."""
    live: int
    """The number in the cluster's database."""
    why: str
    """The problem; empty if nothing is missing."""


class DrillDocument(TypedDict):
    """The result of `restore --drill`: the restored database beside the cluster's."""

    ok: bool
    """Whether nothing is missing."""
    backups: list[str]
    """The backups that were restored, as text."""
    started: str
    """The daemons that were started with them, as text."""
    rows: list[RowEntry]
    """The comparison."""
