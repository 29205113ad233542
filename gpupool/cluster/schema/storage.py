"""Storage: exports, where they are mounted, links to them, labs' spaces, homes."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.base import AbsolutePath, Entry, Fact, Flag, Mode, Name, Nodes, PathOfUser, Word
from gpupool.cluster.words import Duration, Size


class Export(Fact):
    """A directory that a fileserver gives to others."""

    server: Name | None = None
    path: AbsolutePath | None = Field(None, description="On the server.")
    size: Size | None = None
    at: AbsolutePath | None = Field(None, description="Where clients mount it; else <mount_root>/<key>.")
    mount_on: Nodes | None = Field(None, description="Where it differs from storage.mount_on.")
    fs: Literal["plain", "zfs", "ceph"] = "plain"
    profile: Word | None = None
    enabled: Flag = Field(True, description="False: known, but not deployed yet.")
    deprecated: Flag = False
    backed_up: Flag = False


class SpaceRules(Entry):
    """What the top of a lab's space looks like."""

    owner: Name = "root"
    mode: Mode = "1775"
    user_dir: Word = "{user}"
    extra_dirs: Literal["audit", "allow"] = "allow"


class Home(Fact):
    """Homes lie in an export, or are local where there is none."""

    path: PathOfUser = Field("/home/{user}", description="With {user}, {account}, {domain} and {id}.")
    export: Name | None = None
    quota: Size | None = None
    mode: Mode = "0700"


class Local(Fact):
    """A directory of the node's own."""

    path: AbsolutePath
    where: Nodes
    fs: Literal["plain", "zfs"] = "plain"
    size: Size | None = None
    user_dirs: Flag = Field(False, description="Each user finds a directory of the own name in it.")
    mode: Mode = Field("1777", description="The directory's; with user_dirs that of the users' directories.")


class UserSpace(Fact):
    """A directory for each user."""

    path: PathOfUser
    env: Word | None = None
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
