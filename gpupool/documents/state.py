"""The documents of `verify`, `drift`, `log` and `storage report`, which only read the nodes."""

from typing_extensions import TypedDict


class CheckEntry(TypedDict):
    """One check on one node."""

    check: str
    """The check, as text."""
    node: str
    """The node; `-` if it concerns none."""
    ok: bool
    """Whether the check passed."""
    why: str
    """Why it failed, in one line; empty if it passed."""
    seconds: float
    """Duration of the check, in seconds."""


class NotCheckedEntry(TypedDict):
    """A check that could not be made."""

    check: str
    """The check, as text."""
    node: str
    """The node."""
    reason: str
    """Why it could not be made, in one line."""


class VerifyDocument(TypedDict):
    """The checks of the live nodes."""

    ok: bool
    """Whether no check failed."""
    asleep: list[str]
    """Nodes that Slurm has powered down, without checks."""
    out_of_service: list[str]
    """Nodes that the inventory has out of service, without checks."""
    checks: list[CheckEntry]
    """The checks that were made."""
    not_checked: list[NotCheckedEntry]
    """The checks that could not be made."""


class DifferenceEntry(TypedDict):
    """One difference of a node from the inventory."""

    node: str
    """The node."""
    kind: str
    """Kind of the item, in one word: `file`, `package`, `service`, `slurm`, `state`."""
    what: str
    """The item: a path, a key of slurm.conf."""
    inventory: str
    """The value of the inventory; `-` if it has none."""
    file: str
    """The value in the file; `-` if no file sets it."""
    live: str
    """The value that the daemon uses; `-` if none shows it."""
    then: str
    """How long the difference lasts if nothing is done."""


class DriftDocument(TypedDict):
    """The differences of live nodes from the inventory."""

    ok: bool
    """Whether all nodes could be read."""
    drift: bool
    """Whether there is a difference."""
    asleep: list[str]
    """Nodes that Slurm has powered down; they are not read."""
    out_of_service: list[str]
    """Nodes out of service that cannot be reached."""
    trouble: dict[str, str]
    """Why a node could not be read, in one line, by node."""
    differences: list[DifferenceEntry]
    """The differences, in the order of the inventory's nodes."""


class AppliedEntry(TypedDict):
    """One run, as one node recorded it."""

    run: str
    """Id of the run."""
    begun: str
    """Begin in UTC: `2030-01-31T08:12:00Z`."""
    who: str
    """The admin and the machine."""
    command: str
    """The command, such as `apply`."""
    version: str
    """The version of gpupool."""
    cluster: str
    """Name of the cluster."""
    commit: str
    """Commit of the inventory; empty outside of a git repository."""
    uncommitted: bool
    """Whether the inventory had changes that were in no commit."""
    ended: str
    """End in UTC; empty if the run is under way, was killed or lost the connection."""
    count: int
    """Number of all changes of the node."""
    changes: list[str]
    """Names of the first changes."""
    failure: str
    """Why the node failed, in one line; empty if it did not."""
    under_way: bool
    """Whether the run still goes on."""


class LoggedRunEntry(TypedDict):
    """One run that changed nodes."""

    run: str
    """Id of the run."""
    nodes: dict[str, AppliedEntry]
    """The record of each node that the run changed."""


class LogDocument(TypedDict):
    """The runs that changed nodes."""

    ok: bool
    """Whether the log of each node could be read."""
    asleep: list[str]
    """Nodes that Slurm has powered down; they are not read."""
    trouble: dict[str, str]
    """Why a node could not be read, in one line, by node."""
    runs: list[LoggedRunEntry]
    """The runs, oldest first."""


class UsedEntry(TypedDict):
    """One directory."""

    path: str
    """Path for users."""
    node: str
    """The node that counted it."""
    kib: int
    """Size in KiB."""
    size: str
    """Size for people: `2.0T`."""
    updated: str
    """When it was counted: `2030-01-31 15:04`."""
    owner: str
    """The owner of the directory."""
    account: str | None
    """The owner's account, if there is one."""


class UncountedEntry(TypedDict):
    """One directory for which the last count wrote no file."""

    path: str
    """Path for users."""
    node: str
    """The node that counted it."""
    owner: str
    """The owner of the directory; empty if it is unknown."""
    why: str
    """The reason, in one line."""


class UsageDocument(TypedDict):
    """The sizes of directories, from the files that the servers write."""

    ok: bool
    """Whether all directories could be read."""
    over_kib: int
    """`directories` has those larger than this, in KiB."""
    directories: list[UsedEntry]
    """Large directories, largest first."""
    counted: int
    """Number of all directories with a size."""
    without_file: int
    """Number of directories without a report."""
    not_written: list[UncountedEntry]
    """Directories for which the last count wrote no file."""
    trouble: dict[str, str]
    """Why something could not be read, in one line, by node or by node and directory."""
