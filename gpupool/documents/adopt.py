"""The document of `adopt`: what was read and written, and each difference."""

from typing_extensions import TypedDict

from gpupool.documents.inventory import ComplaintEntry


class DifferenceEntry(TypedDict):
    """One value that the inventory would change."""

    file: str | None
    """File of the cluster that sets the value, relative to the folder of `--files`; null if no line does."""
    line: int | None
    """Line of that file, from 1; null if no line sets the value."""
    section: str
    """The part of Slurm's files: `settings` of slurm.conf, `node`, `partition`, `cgroup` or `gres`."""
    key: str
    """The key, in Slurm's spelling."""
    of: str
    """Its nodes or partitions, as a host list; empty for a setting."""
    was: str
    """The cluster's value; empty if it has none."""
    would: str
    """The value with the inventory; empty if it has none."""
    cause: str
    """The cause, in a few words: `place`, `gpus`, `removed by Slurm`."""
    why: str | None
    """The cause, as a sentence; null if there is none."""
    group: str | None
    """The group of `slurm.left` that leaves the key to the site; null if no group has it."""


class ControllerEntry(TypedDict):
    """The controller that `--from` has read."""

    login: str
    """Where it was reached: `root@controller`."""
    release: str | None
    """The version of its Slurm; null if it is unknown."""
    package: str | None
    """The package that slurmctld belongs to; null if it belongs to none."""
    conf: str
    """The path of its slurm.conf."""
    silent: list[str]
    """The nodes that do not respond to slurmctld."""
    reservations: list[str]
    """The names of its reservations, which stay as they are."""
    not_read: list[str]
    """The files that could not be read."""


class AskedEntry(TypedDict):
    """The answer of a node to `--from`."""

    node: str
    """The node's name in Slurm."""
    failure: str | None
    """Why there is no answer; null if there is one."""
    source: str
    """Where slurmd has its slurm.conf from; empty without an answer."""
    gres: list[str]
    """The lines of `slurmd -G`."""
    mounts: list[str]
    """The mounted network file systems: directory, type and source, with spaces between them."""
    differences: list[str]
    """The hardware that differs from the node's line in slurm.conf, a sentence for each value."""


class AdoptDocument(TypedDict):
    """The inventory of a running cluster's files, and its differences from them."""

    ok: bool
    """Whether `check` accepts the inventory, and no value and no entity of slurmdbd differs."""
    controller: ControllerEntry | None
    """The controller of `--from`; null with `--files`."""
    nodes: list[AskedEntry]
    """The answers of the nodes that `--from` asked."""
    read: list[str]
    """The files that were read, relative to the folder of `--files`."""
    not_read: list[str]
    """The other files at the top of that folder."""
    written: list[str]
    """The files of the inventory."""
    left: list[str]
    """The groups of gpupool's own keys that stay the site's: `slurm.left` of the inventory."""
    mistakes: list[ComplaintEntry]
    """Mistakes in the cluster's files, with their lines."""
    errors: list[ComplaintEntry]
    """Errors of the inventory, which `check` refuses; then nothing was compared."""
    slurmctld: str | None
    """Version of the slurmctld that has judged; null if only gpupool's own parser has compared the files."""
    why_not: str | None
    """Why no slurmctld has judged, although `--judge` asked for it; null otherwise."""
    refused: str | None
    """Why slurmctld does not start with the inventory's files; null if it does, or was not asked."""
    differences: list[DifferenceEntry]
    """All values that would change."""
    accounting: list[str]
    """The entities of a dump of sacctmgr that would differ in slurmdbd; empty without a dump."""
