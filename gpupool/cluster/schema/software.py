"""Software, environment, tools, timers, access and policies of a site."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import (
    AbsolutePath,
    Count,
    CudaVersion,
    Entry,
    Fact,
    Flag,
    Mode,
    Name,
    Nodes,
    TextOfUser,
    VariableName,
    Word,
)
from gpupool.cluster.units import Duration, Size

# sshd takes * and ? in AcceptEnv, and does not start with what it takes for no name
AcceptedName = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z_*?][A-Za-z0-9_*?]*$")]
DriverBranch = Annotated[str, Field(strict=True, pattern=r"^[0-9]{3}$")]
_ARMORED = re.compile(
    r"-----BEGIN PGP PUBLIC KEY BLOCK-----\n([A-Za-z]+: [ -~]*\n)*\n([A-Za-z0-9+/=]+\n)+"
    r"-----END PGP PUBLIC KEY BLOCK-----\n?"
)


def _repository_key(key: str) -> str:
    if "PRIVATE KEY" in key:
        raise ValueError("this is a private key: anyone who reads it can sign packages (write the public key)")
    if not _ARMORED.fullmatch(key):
        raise ValueError(
            f"{quoted(key)} is not an armored public key; write all lines of `gpg --armor --export` after `key: |`"
        )
    return key


RepositoryKey = Annotated[str, Field(strict=True), AfterValidator(_repository_key)]


class Repository(Fact):
    """A repository of Debian packages besides the distribution's own."""

    url: Annotated[str, Field(strict=True, pattern=r"^https?://[!-~]+$")]
    suite: Annotated[
        str,
        Field(
            strict=True,
            pattern=r"^[A-Za-z0-9./][A-Za-z0-9._/-]*$",
            description="Such as trixie; ends with a slash where the repository has no suites: ./",
        ),
    ]
    components: tuple[Name, ...] = ()
    key: RepositoryKey = Field(description="The public key that signs it: the whole armored block.")


class DriverChoice(Fact):
    """Which GPU driver nodes get, and from where."""

    driver_branch: DriverBranch | None = Field(None, description="Such as 550; default: the distribution's.")
    module: Literal["open", "proprietary"] | None = Field(
        None, description="NVIDIA's open kernel module, for Turing and later GPUs; default: proprietary."
    )
    repository: Name | None = Field(None, description="Key of software.repositories; default: the distribution.")
    version: Annotated[str, Field(strict=True, pattern=r"^[0-9][A-Za-z0-9.+~-]*$")] | None = Field(
        None, description="Exact version of the packages, such as 550.163.01-2; default: the newest of the branch."
    )
    cuda: CudaVersion | None = Field(
        None, description="The CUDA version that users may count on; default: the newest that the driver supports."
    )


class DriverOverride(DriverChoice):
    """Nodes whose driver differs; keys without a value are those of software.cuda."""

    where: Nodes


class Cuda(DriverChoice):
    """The GPU driver."""

    where: Nodes
    overrides: tuple[DriverOverride, ...] = ()


class DockerPurge(Entry):
    """Automatic removal of containers."""

    containers_older_than: Duration
    every: Duration = 3600


class Docker(Fact):
    """Docker on nodes."""

    enabled: Flag = True
    where: Nodes | None = None
    group: Name = "docker"
    gpus: Literal["nv_gpu", "cuda_visible_devices"] = "nv_gpu"
    sudo: Flag = False
    purge: DockerPurge | None = None
    shared_images: Flag = False


class Singularity(Fact):
    """Singularity (Apptainer) on nodes."""

    enabled: Flag = True
    where: Nodes | None = None
    fakeroot: Flag = False
    dev: Literal["full", "minimal"] = "full"


class Conda(Fact):
    """Conda: one central installation, or each user's own."""

    central: Flag = False
    bashrc_hook: Flag = False
    installer: Word | None = None


class Module(Fact):
    """A module file."""

    name: Word
    provides: tuple[Word, ...] = ()


class Modules(Fact):
    """Environment modules."""

    enabled: Flag = True
    list: tuple[Module, ...] = ()


class Image(Fact):
    """A container image kept on the nodes."""

    source: Word
    at: Word | None = None
    runtime: Literal["singularity", "docker"] = "singularity"
    where: Nodes | None = None


class Software(Fact):
    """Installed software."""

    debian: Literal["bookworm", "trixie", "sid"] = "trixie"
    packages: dict[Name, tuple[Word, ...]] = Field(
        default_factory=dict, description="Debian packages by role; `all` for every node."
    )
    repositories: dict[Name, Repository] = Field(default_factory=dict)
    cuda: Cuda | None = None
    docker: Docker | None = None
    singularity: Singularity | None = None
    conda: Conda | None = None
    modules: Modules | None = None
    images: tuple[Image, ...] = ()


class AcceptEnv(Entry):
    """Environment variables that SSH clients may send."""

    where: Nodes
    names: tuple[AcceptedName, ...]


class Environment(Fact):
    """Environment variables; values may contain {user} and {account}."""

    accept_env: AcceptEnv | None = None
    login: dict[VariableName, Word] = Field(default_factory=dict)
    job: dict[VariableName, TextOfUser] = Field(default_factory=dict)
    private_tmp: AbsolutePath | None = Field(
        None,
        description="Local directory of compute nodes, in which each job has a /tmp and /dev/shm of its own.",
    )


class Tool(Fact):
    """A program that gpupool brings along."""

    name: Word
    where: Nodes
    options: dict[Name, Word | Count] = Field(default_factory=dict)


class Timer(Fact):
    """Periodic work on nodes, except storage."""

    job: Literal["docker-purge", "reaper", "shm-clean"] = Field(
        description="shm-clean: remove files in /dev/shm and /tmp of users whose last job on the node has ended."
    )
    every: Duration | None = None
    when: Literal["job-end"] | None = None
    where: Nodes


class AdminSsh(Entry):
    """How gpupool logs in to nodes."""

    user: Name = "root"
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 22
    key: Word | None = Field(
        None, description="Path of the private key on the admin's machine; default: keys of the SSH agent."
    )


class Access(Fact):
    """Who may log in where."""

    admin: AdminSsh = Field(default_factory=AdminSsh)
    compute_ssh: Literal["open", "allocated", "none"] = "allocated"
    fileserver_ssh: Literal["open", "admins"] = "admins"
    controller_ssh: Literal["open", "admins"] = "admins"
    password_login: Flag = False
    agent_forwarding: Flag = False
    outside: tuple[Name, ...] = Field((), description="Roles that can be reached from outside, or `vpn`.")
    gateway_forwards_to: tuple[Name, ...] = ()


class HeadNodes(Fact):
    """Limits of each user on a head node."""

    cpu_per_user: Annotated[str, Field(strict=True, pattern=r"^\d+%$")]
    memory_per_user: Size
    linger: Flag = True


class Reaper(Fact):
    """Ends processes started outside Slurm."""

    grace: Duration
    spare_users: tuple[Name, ...] = ("root", "slurm")
    spare_docker_of_jobs: Flag = True


class DevPorts(Fact):
    """Ports for users' own servers."""

    range: Annotated[str, Field(strict=True, pattern=r"^\d+(-\d+)?$")]
    open_to: Literal["cluster", "vpn", "all"]
    where: Nodes | None = None


class Policies(Fact):
    """Site policies."""

    head_nodes: HeadNodes | None = None
    reaper: Reaper | None = None
    dev_ports: DevPorts | None = None
    nofile: Count | None = Field(None, description="Most open files per process.")
    home_mode: Mode | None = None
    vscode_kill: Nodes | None = None
    reboot_only_idle: Flag = True
