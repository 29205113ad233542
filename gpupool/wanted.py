"""What a node shall have: what compile makes, operations bring about, `render` prints and `verify` looks for.

Plain data: no pyinfra, no inventory. Modes are octal as text; owners are names, or numbers where they say uid and gid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A whole file by absolute path. Its text is shown, in a plan for example: a secret is no file."""

    path: str
    text: str = field(repr=False)
    owner: str = "root"
    group: str = "root"
    mode: str = "0644"


@dataclass(frozen=True)
class Directory:
    """A directory; its contents are left alone."""

    path: str
    owner: str = "root"
    group: str = "root"
    mode: str = "0755"


@dataclass(frozen=True)
class Reservation:
    """A reservation of Slurm's: `start` as 2030-01-31T10:00:00 in the node's own time, `duration` in seconds.

    It is of `nodes` (a hostlist), of `node_count` nodes of a `partition`, or of `gpus` there: by type, or of any by "".
    `every` is DAILY, WEEKDAY, WEEKEND, WEEKLY or "" for once, `flags` further ones as scontrol takes them.
    `free_after`: seconds without a job after which it ends; 0: never.
    """

    name: str
    start: str
    duration: int
    every: str = ""
    nodes: str = ""
    node_count: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    partition: str = ""
    accounts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    free_after: int = 0


@dataclass(frozen=True)
class Mount:
    """One mount: `options` as in fstab(5), `units` are the unit files by which systemd makes it.

    With `automount` it is made when somebody first looks; `timeout` is how many seconds the server may take to
    answer, 0 for ever, for what a service cannot start without.
    """

    path: str
    source: str
    fstype: str = "nfs4"
    options: str = "defaults"
    automount: bool = False
    timeout: int = 30
    units: tuple[File, ...] = ()

    @property
    def patience(self) -> int:
        """Seconds that a run waits for it."""
        return self.timeout or 30


@dataclass(frozen=True)
class Export:
    """A directory that a server exports by NFS, its clients (addresses or networks), and options of exports(5)."""

    path: str
    clients: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True)
class Vdev:
    """A group of disks by absolute path; `kind`: mirror, raidz1 to 3, stripe, log, cache, special or spare."""

    kind: str
    disks: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """A ZFS pool: its groups of disks, its own properties, and where its top dataset is mounted.

    Without vdevs it has to exist: it is never made. `scrub` is weekly, monthly or quarterly, None for never.
    """

    name: str
    vdevs: tuple[Vdev, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    mountpoint: str | None = None
    scrub: str | None = None

    @property
    def disks(self) -> list[str]:
        """All its disks by path."""
        return [disk for vdev in self.vdevs for disk in vdev.disks]


@dataclass(frozen=True)
class Dataset:
    """A ZFS dataset that is mounted at `mountpoint` (None: wherever that of its parent makes it be).

    Sizes in `properties` are bytes, or as 1M; what is not named is inherited, or left as somebody set it by hand.
    Quotas are bytes by uid and by gid, `user_files` most files by uid; `snapshots` says how many of each kind (hourly,
    daily, weekly, monthly) are kept.
    """

    name: str
    mountpoint: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    user_quotas: Mapping[str, int] = field(default_factory=dict)
    user_files: Mapping[str, int] = field(default_factory=dict)
    group_quotas: Mapping[str, int] = field(default_factory=dict)
    snapshots: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class User:
    """A user of a node: `group` is the primary group's name, `groups` are further ones; home and shell by path.

    `ends` is the first day (2030-01-31) on which nobody logs in as this user any more; empty without an end.
    """

    name: str
    uid: int
    group: str
    groups: tuple[str, ...] = ()
    home: str = "/nonexistent"
    shell: str = "/usr/sbin/nologin"
    comment: str = ""
    ends: str = ""


@dataclass(frozen=True)
class Space:
    """The top of a lab's space: owned by root and a group, by number, as a fileserver need not know names.

    `groups` are further groups that may write there, by ACL.
    """

    path: str
    gid: int
    mode: str = "3775"
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Folder:
    """A folder of one user, owner and group by number; of a home, `keys` are the SSH keys that it has."""

    path: str
    uid: int
    gid: int
    mode: str = "0700"
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlurmNode:
    """A compute node as Slurm counts it: logical CPUs, and GPUs by type."""

    name: str
    cpus: int
    gpus: Mapping[str, int]


@dataclass(frozen=True)
class GpuDriver:
    """A GPU driver as Debian packages of a `branch`, such as 550, or of one exact `version`.

    `held` are of the driver's version, the kernel module first; `beside` have versions of their own; `instead` are
    those of other drivers, which cannot be there at the same time.
    """

    branch: str
    version: str | None
    held: tuple[str, ...]
    beside: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """How the versions of all that is held begin: `550.`, or `550.163.01` without the part of the packaging."""
        return self.version.rpartition("-")[0] or self.version if self.version else f"{self.branch}."


@dataclass(frozen=True)
class Roster:
    """Accounts whose users are the members of groups in a directory: `groups` are these, by account.

    `domain` is what sssd calls the directory; numbers of its users are from `first` to `last`. `listed` are users who
    are said elsewhere. `users` is what slurmdbd shall hold of each member, by account. No more than `max_removals`
    users of an account are removed at once.
    """

    domain: str
    groups: Mapping[str, str]
    first: int
    last: int
    listed: frozenset[str] = frozenset()
    users: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_removals: int = 10
