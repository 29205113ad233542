"""Storage: exports, where they are mounted, links to them, labs' spaces, homes."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import (
    AbsolutePath,
    Count,
    Entry,
    Fact,
    Flag,
    Mode,
    Name,
    Nodes,
    PathOfUser,
    VariableName,
    Word,
)
from gpupool.cluster.words import Duration, Size

Data = Literal["stripe", "mirror", "raidz1", "raidz2", "raidz3"]
Aside = Literal["log", "cache", "special", "spare"]
Period = Literal["hourly", "daily", "weekly", "monthly"]


class Vdev(Entry):
    """A group of a pool's disks. Several `stripe`, `cache` or `spare` stand each for itself, `log` and `special` are
    mirrored."""

    kind: Data | Aside
    disks: tuple[AbsolutePath, ...] = Field(min_length=1, description="By names that stay: /dev/disk/by-id/….")


class Pool(Fact):
    """A ZFS pool of one server, or one that each of several nodes has alike."""

    server: Name | None = None
    where: Nodes | None = Field(None, description="Instead of server: each of these nodes has it, on disks so named.")
    name: Name | None = Field(None, description="What zfs calls it; else the key.")
    at: AbsolutePath | None = Field(None, description="Where its top is mounted; else /<name>.")
    vdevs: tuple[Vdev, ...] = Field((), description="Its disks. Without them it has to be there: it is never made.")
    properties: dict[Word, Word] = Field(default_factory=dict, description="Of the pool, such as ashift.")
    defaults: dict[Word, Word] = Field(
        default_factory=dict,
        description=(
            "Of its top dataset, inherited by all below it. What is not said is compression: lz4, atime: off, "
            "xattr: sa, acltype: posixacl."
        ),
    )
    scrub: Literal["weekly", "monthly", "quarterly"] | None = Field(None, description="How often all of it is read.")


class Export(Fact):
    """A directory that a fileserver gives to others."""

    server: Name | None = None
    path: AbsolutePath | None = Field(None, description="On the server.")
    size: Size | None = Field(None, description="Of a zfs one on a declared pool: its quota.")
    at: AbsolutePath | None = Field(None, description="Where clients mount it; else <mount_root>/<key>.")
    mount_on: Nodes | None = Field(None, description="Where it differs from storage.mount_on.")
    fs: Literal["plain", "zfs", "ceph"] = "plain"
    dataset: Word | None = Field(
        None, description="What zfs calls it; else as the path says, where that lies below a declared pool's place."
    )
    properties: dict[Word, Word] = Field(default_factory=dict, description="Of the dataset, such as recordsize.")
    reservation: Size | None = Field(None, description="Room that the dataset has for sure.")
    snapshots: dict[Period, Count] = Field(default_factory=dict, description="How many of each kind are kept.")
    squash: Literal["root", "none", "all"] = Field("root", description="Whose rights end on the server: root's, all's.")
    options: tuple[Word, ...] = Field((), description="Of the clients' mounts, besides gpupool's own.")
    profile: Word | None = Field(None, description="What it is for: read-optimized (large blocks).")
    mode: Mode | None = Field(
        None, description="Of its top, which is root's: 1777 lets all add directories. Not where a lab has a space."
    )
    enabled: Flag = Field(True, description="False: known, but not deployed yet.")
    deprecated: Flag = False
    backed_up: Flag = False


class SpaceRules(Entry):
    """What the top of a lab's space looks like."""

    owner: Name = "root"
    mode: Mode = "3775"
    user_dir: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_.@-]*\{user\}[A-Za-z0-9_.@-]*$")] = "{user}"
    extra_dirs: Literal["audit", "allow"] = "allow"


class Home(Fact):
    """Homes lie in an export, or are local where there is none."""

    path: PathOfUser = Field("/home/{user}", description="With {user}, {account}, {domain} and {id}.")
    export: Name | None = None
    quota: Size | None = Field(None, description="For each user, where the homes' export is zfs on a declared pool.")
    mode: Mode = "0700"


class Local(Fact):
    """A directory of the node's own."""

    path: AbsolutePath
    where: Nodes
    fs: Literal["plain", "zfs"] = "plain"
    size: Size | None = Field(None, description="Of a zfs one on a declared pool: its quota.")
    user_dirs: Flag = Field(False, description="Each user finds a directory of the own name in it.")
    mode: Mode = Field("1777", description="The directory's; with user_dirs that of the users' directories.")


class UserSpace(Fact):
    """A directory for each user."""

    path: PathOfUser
    env: VariableName | None = Field(None, description="Variable of login shells that names it.")
    quota: dict[Literal["standard", "premium"], Size] = Field(
        default_factory=dict, description="For all of an account's users together, by the account's tier."
    )


class UsageReport(Fact):
    """A file in each directory that says how much is in it."""

    file: Word = "disk-usage.txt"
    every: Duration = 604800
    tag_over: Size | None = None


class Purge(Fact):
    """Files that go by themselves."""

    path: AbsolutePath
    not_updated_for: Duration
    every: Duration = 86400


class Storage(Fact):
    """All of it."""

    driver: Literal["nfs", "standin"] = Field("nfs", description="standin: shared directories of a testbed.")
    mount_root: AbsolutePath = "/mnt"
    mount_on: Nodes | None = None
    nfs_versions: tuple[Literal[3, 4], ...] = Field((4,), min_length=1, description="That servers speak.")
    pools: dict[Name, Pool] = Field(default_factory=dict, description="ZFS pools. Without them nobody looks at zfs.")
    exports: dict[Name, Export] = Field(default_factory=dict)
    links: dict[AbsolutePath, AbsolutePath] = Field(default_factory=dict, description="Link: where it points.")
    links_on: Nodes | None = Field(None, description="Nodes that get links; else storage.mount_on.")
    spaces: dict[Name, dict[Name, Name]] = Field(
        default_factory=dict, description="/srv/<account>/<space> for each account: space: export."
    )
    space_rules: SpaceRules = Field(default_factory=SpaceRules)
    home: Home = Field(default_factory=Home)
    local: tuple[Local, ...] = ()
    user_spaces: tuple[UserSpace, ...] = ()
    usage_report: UsageReport | None = None
    purge: tuple[Purge, ...] = ()
