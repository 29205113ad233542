"""Storage: exports, where they are mounted, links to them, labs' spaces, homes."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import (
    AbsolutePath,
    Count,
    Entry,
    Flag,
    Mode,
    Name,
    NetworkName,
    Nodes,
    PathOfUser,
    Several,
    SourcedEntry,
    VariableName,
    Word,
    spelt,
)
from gpupool.cluster.units import Duration, Size

Data = Literal["stripe", "mirror", "raidz1", "raidz2", "raidz3"]
Aside = Literal["log", "cache", "special", "spare"]
Period = Literal["hourly", "daily", "weekly", "monthly"]
#: Kinds of file systems that gpupool does not mount.
OfTheSite = Literal["gpfs", "lustre", "beegfs", "weka"]


class Vdev(Entry):
    """A group of a pool's disks (vdev). Disks of `stripe`, `cache` or `spare` are independent; several of `log` or
    `special` are mirrors."""

    kind: Data | Aside = Field(description="How the disks are combined, or what they are for besides data.")
    disks: tuple[AbsolutePath, ...] = Field(min_length=1, description="Persistent names: /dev/disk/by-id/….")


class Pool(SourcedEntry):
    """A ZFS pool of one server, or identical pools of several nodes."""

    server: Name | None = Field(None, description="The fileserver with the pool; or set `where`.")
    where: Nodes | None = Field(
        None, description="Instead of server: nodes that each have such a pool, on disks with these names."
    )
    name: Name | None = Field(None, description="Name of the pool in ZFS; default: the key.")
    at: AbsolutePath | None = Field(None, description="Mount point of the top dataset; default: /<name>.")
    vdevs: tuple[Vdev, ...] = Field(
        (), description="Disks of the pool. Without this key, gpupool never creates the pool: it must exist."
    )
    properties: dict[Word, Word] = Field(default_factory=dict, description="Properties of the pool, such as ashift.")
    defaults: dict[Word, Word] = Field(
        default_factory=dict,
        description=(
            "Properties of the top dataset, inherited by all others. Defaults: compression: lz4, atime: off, "
            "xattr: sa, acltype: posixacl."
        ),
    )
    scrub: Literal["weekly", "monthly", "quarterly"] | None = Field(
        None, description="How often the whole pool is scrubbed."
    )


class UserQuota(Entry):
    """Quota of each user on an export."""

    hard: Size = Field(description="Maximum of a user, with its unit: 2T.")
    soft: Size | None = Field(None, description="A user may exceed it for `grace`; not on ZFS.")
    grace: Duration | None = Field(None, description="How long a user may exceed `soft`: 7d.")
    files: Several | None = Field(None, description="Maximum number of files and directories.")


class Export(SourcedEntry):
    """A directory that a fileserver exports to other nodes."""

    server: Name | None = Field(None, description="The fileserver that exports it.")
    path: AbsolutePath | None = Field(None, description="Path on the server.")
    network: NetworkName | None = Field(
        None,
        description="A network of cluster.networks: clients mount from the server's address there, and the server "
        "exports to theirs. Default: cluster.network.",
    )
    size: Size | None = Field(None, description="For ZFS on a declared pool: the quota of the dataset.")
    at: AbsolutePath | None = Field(None, description="Mount point on clients; default: <mount_root>/<key>.")
    mount_on: Nodes | None = Field(None, description="Nodes that mount it; default: storage.mount_on.")
    fs: Literal["plain", "zfs", "ceph"] | OfTheSite = Field(
        "plain", description="File system on the server; gpupool manages `zfs` on declared pools."
    )
    mounted_by: Literal["gpupool", "site"] = Field(
        "gpupool",
        description="site: the site mounts it on the nodes, as with GPFS, Lustre, BeeGFS or Weka. It then has no "
        "server and no path; `gpupool verify` reports nodes on which it is not mounted.",
    )
    mount_point: AbsolutePath | None = Field(
        None,
        description="With mounted_by: site, the mount point above `at`, if `at` is a directory of a file system, such "
        "as a fileset of GPFS; default: `at`.",
    )
    made_on: Name | None = Field(
        None,
        description="With mounted_by: site, the node that creates homes and directories on it, as root; default: "
        "the site creates them.",
    )
    dataset: Word | None = Field(
        None,
        description="Name of the dataset in ZFS; default: derived from the path, if that is inside a declared pool.",
    )
    properties: dict[Word, Word] = Field(
        default_factory=dict, description="Properties of the dataset, such as recordsize."
    )
    reservation: Size | None = Field(None, description="Space reserved for the dataset.")
    snapshots: dict[Period, Count] = Field(default_factory=dict, description="Number of snapshots kept, by kind.")
    user_quota: UserQuota | None = Field(
        None, description="Quota of each user on it; for homes, set storage.home.quota."
    )
    quotas_by: Literal["gpupool", "site"] = Field(
        "gpupool",
        description="site: the site sets quotas of users on the server; gpupool never sets them.",
    )
    squash: Literal["root", "none", "all"] = Field(
        "root", description="Which client users are mapped to `nobody` on the server."
    )
    options: tuple[Word, ...] = Field(
        (),
        description="Mount options on clients, in addition to gpupool's own; `suid` and `dev` replace its `nosuid` "
        "and `nodev`.",
    )
    profile: Word | None = Field(None, description="Intended use: read-optimized (large blocks).")
    mode: Mode | None = Field(
        None,
        description="Mode of the top directory, which root owns: 1777 lets all users add directories. Not with a "
        "lab's space.",
    )
    enabled: Flag = Field(True, description="False: planned, not deployed yet.")
    deprecated: Flag = Field(False, description="Still exported, but not for new data.")
    backed_up: Flag = Field(False, description="A note for reports; gpupool makes no backups of it.")

    @property
    def takes_root(self) -> bool:
        """Whether root of a node that mounts it may write there."""
        return self.squash == "none" or self.fs == "ceph" or self.mounted_by == "site"


class SpaceRules(Entry):
    """Owner and mode of the top directory of a lab's space."""

    owner: Name = Field("root", description="Owner of the top of a space.")
    mode: Mode = Field("3775", description="Mode of the top, four digits in quotes.")
    user_dir: Annotated[
        str,
        spelt(
            r"^[A-Za-z0-9_.@-]*\{user\}[A-Za-z0-9_.@-]*$", "write {user}, with letters, digits and _ . @ - beside it"
        ),
    ] = Field("{user}", description="Name of each user's directory, with {user}.")
    extra_dirs: Literal["audit", "allow"] = Field(
        "allow", description="audit: list everything else at the top of a space."
    )


class Home(SourcedEntry):
    """Home directories: in an export, or local if `export` is not set."""

    path: PathOfUser = Field("/home/{user}", description="Path, with {user}, {account}, {domain} and {id}.")
    export: Name | None = Field(None, description="The export with all homes; default: homes are local.")
    quota: Size | None = Field(
        None,
        description="Quota of each user; gpupool sets it if the export of homes is ZFS on a declared pool.",
    )
    files: Several | None = Field(None, description="Maximum files and directories of each user; set like the quota.")
    mode: Mode = Field("0700", description="Mode of each home, four digits in quotes.")


class Local(SourcedEntry):
    """A local directory of nodes."""

    path: AbsolutePath = Field(description="Path of the directory.")
    where: Nodes
    fs: Literal["plain", "zfs"] = Field("plain", description="File system; `zfs` is a dataset of a declared pool.")
    size: Size | None = Field(None, description="For ZFS on a declared pool: the quota of the dataset.")
    user_dirs: Flag = Field(False, description="Create a directory for each user, named after the user.")
    mode: Mode = Field("1777", description="Mode of the directory; with user_dirs, of the users' directories.")


class UserSpace(SourcedEntry):
    """A directory for each user."""

    path: PathOfUser = Field(description="Path of a user's directory, with {user} and {account}.")
    env: VariableName | None = Field(None, description="Environment variable of login shells that holds its path.")
    quota: dict[Literal["standard", "premium"], Size] = Field(
        default_factory=dict, description="Quota for all users of an account together, by the account's tier."
    )


class UsageReport(SourcedEntry):
    """A file in each directory that reports its disk usage."""

    file: Word = Field("disk-usage.txt", description="Name of the file.")
    every: Duration = Field(604800, description="Time between two reports.")
    tag_over: Size | None = Field(None, description="Directories above this size are marked; default: none.")


class Purge(SourcedEntry):
    """Automatic removal of old files."""

    path: AbsolutePath = Field(description="Directory whose old files are removed.")
    not_updated_for: Duration = Field(description="Files that have not changed for this time are removed.")
    every: Duration = Field(86400, description="Time between two runs.")
    warn_before: Duration | None = Field(
        None, description="Time before the removal at which a file in each user's directory announces its amount."
    )


class Storage(SourcedEntry):
    """All storage of the cluster."""

    driver: Literal["nfs", "standin"] = Field("nfs", description="standin: shared directories of a testbed.")
    mount_root: AbsolutePath = Field(
        "/mnt", description="Exports are mounted at <mount_root>/<key> unless `at` is set."
    )
    mount_on: Nodes | None = Field(
        None, description='Nodes that mount an export without mount_on; default: "@head,@compute".'
    )
    nfs_versions: tuple[Literal[3, 4], ...] = Field(
        (4,), min_length=1, description="NFS versions that the servers offer."
    )
    pools: dict[Name, Pool] = Field(
        default_factory=dict, description="ZFS pools. Without any, gpupool does not touch ZFS."
    )
    exports: dict[Name, Export] = Field(default_factory=dict, description="Exported directories, by name.")
    links: dict[AbsolutePath, AbsolutePath] = Field(
        default_factory=dict, description="Symbolic links: path and target."
    )
    links_on: Nodes | None = Field(None, description="Nodes that get the links; default: storage.mount_on.")
    spaces: dict[Name, dict[Name, Name]] = Field(
        default_factory=dict, description="Links /srv/<account>/<space>, as account: {space: export}."
    )
    space_rules: SpaceRules = Field(
        default_factory=SpaceRules, description="Owner, mode and contents of the top of labs' spaces."
    )
    home: Home = Field(default_factory=Home, description="Home directories: path, export, quota.")
    local: tuple[Local, ...] = Field((), description="Local directories of nodes.")
    user_spaces: tuple[UserSpace, ...] = Field(
        (), description="A directory for each user on an export, with a variable."
    )
    usage_report: UsageReport | None = Field(
        None, description="A file in each directory that reports its disk usage; default: none."
    )
    purge: tuple[Purge, ...] = Field((), description="Automatic removal of old files; default: none.")
