"""The wanted state of a node: made by compile, applied by operations, printed by `render`, checked by `verify`.

Plain data, without pyinfra and the inventory. Modes are octal text; owners are names, in `uid` and `gid` numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A file by absolute path. Its text is shown, for example in a plan, so it must not contain a secret."""

    path: str
    text: str = field(repr=False)
    owner: str = "root"
    group: str = "root"
    mode: str = "0644"


@dataclass(frozen=True)
class Directory:
    """A directory; its contents are not changed."""

    path: str
    owner: str = "root"
    group: str = "root"
    mode: str = "0755"


@dataclass(frozen=True)
class Reservation:
    """A reservation in Slurm: `start` as 2030-01-31T10:00:00 in the node's local time, `duration` in seconds.

    It has `nodes` (a hostlist), `node_count` nodes of a `partition`, or `gpus` of it by type ("" for any type).
    `every` is DAILY, WEEKDAY, WEEKEND, WEEKLY or "" for once; `flags` are other flags of scontrol.
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
    """One mount: `options` as in fstab(5), `units` are its unit files of systemd.

    With `automount` it is mounted at the first access. `timeout` is the number of seconds to wait for the server; 0
    means no limit, for a mount that a service needs at its start.
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
        """The seconds that a run waits for the mount."""
        return self.timeout or 30


@dataclass(frozen=True)
class Export:
    """A directory that a server exports by NFS, its clients (addresses or networks), and options of exports(5)."""

    path: str
    clients: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True)
class Vdev:
    """A vdev: its disks by absolute path; `kind`: mirror, raidz1 to 3, stripe, log, cache, special or spare."""

    kind: str
    disks: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """A ZFS pool: its vdevs, its properties, and the mount point of its top dataset.

    Without vdevs it must exist: it is never created. `scrub` is weekly, monthly or quarterly, None for never.
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
    """A ZFS dataset that is mounted at `mountpoint` (None: inherited from its parent).

    Sizes in `properties` are bytes, or texts such as 1M; other properties are inherited, or keep a value set by hand.
    Quotas are bytes by uid and by gid, `user_files` the maximum number of files by uid; `snapshots` is the number of
    kept snapshots by kind (hourly, daily, weekly, monthly).
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
    """A user of a node: `group` is the primary group's name, `groups` are others; home and shell are paths.

    `ends` is the first day (2030-01-31) on which this user can no longer log in; empty without an end.
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
    """The top folder of a lab's space: owned by root and a gid, because a file server may not have the group's name.

    `groups` are the gids of other groups that may write there, by ACL.
    """

    path: str
    gid: int
    mode: str = "3775"
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Folder:
    """A folder of one user, by uid and gid; in a home, `keys` are its authorized SSH keys."""

    path: str
    uid: int
    gid: int
    mode: str = "0700"
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlurmNode:
    """A compute node in slurm.conf: logical CPUs, their cores on all sockets as Slurm counts them, and GPUs by type."""

    name: str
    cpus: int
    cores: int
    gpus: Mapping[str, int]


@dataclass(frozen=True)
class GpuDriver:
    """A GPU driver as Debian packages of a `branch`, such as 550, or of one exact `version`.

    `held` are packages of the driver's version, the kernel module first; `beside` are packages with other versions;
    `instead` are packages of other drivers, which conflict with it.
    """

    branch: str
    version: str | None
    held: tuple[str, ...]
    beside: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()

    @property
    def prefix(self) -> str:
        """The prefix of the versions of all packages in `held`: `550.`, or `550.163.01` without the Debian revision."""
        return self.version.rpartition("-")[0] or self.version if self.version else f"{self.branch}."


@dataclass(frozen=True)
class Roster:
    """Accounts whose users are the members of groups in a directory; `groups` are the group names by account.

    `domain` is sssd's name of the directory; its users have numbers from `first` to `last`. `listed` are users who are
    defined in the inventory. `users` are the wanted fields in slurmdbd of each member, by account. At most
    `max_removals` users of an account are removed at once.
    """

    domain: str
    groups: Mapping[str, str]
    first: int
    last: int
    listed: frozenset[str] = frozenset()
    users: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_removals: int = 10


@dataclass(frozen=True)
class Heart:
    """The nodes without which a cluster cannot run, and all nodes with a part of Slurm, by name.

    `cluster` is ClusterName; `state` is slurmctld's directory, and `mount` its mount on controllers ("": a local disk).
    `addresses` are those of the controllers.
    """

    cluster: str
    controllers: Sequence[str]
    addresses: Sequence[str]
    database: str
    nodes: Sequence[str]
    state: str
    mount: str = ""

    @property
    def needed(self) -> frozenset[str]:
        """The first controller and the node of the database; other controllers may be down."""
        return frozenset((self.controllers[0], self.database))
