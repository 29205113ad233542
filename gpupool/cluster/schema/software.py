"""Software, environment, tools, timers, access and policies of a site."""

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import (
    Count,
    CudaVersion,
    Entry,
    Flag,
    Mode,
    Name,
    NetworkName,
    Nodes,
    PathOfUser,
    PlainPath,
    SourcedEntry,
    TextOfUser,
    VariableName,
    Word,
    spelt,
)
from gpupool.cluster.schema.machines import Role
from gpupool.cluster.schema.modules import Conda, Modules
from gpupool.cluster.schema.systems import DEFAULT_SYSTEM, NodeSystem
from gpupool.cluster.units import Duration, Size
from gpupool.distributions.tables import Distribution
from gpupool.distributions.tables import distribution as release_of

# sshd allows * and ? in AcceptEnv, and does not start with an invalid name
AcceptedName = Annotated[
    str, spelt(r"^[A-Za-z_*?][A-Za-z0-9_*?]*$", "a variable has letters, digits and _, * or ? here")
]
#: Prefix length of each network of containers: 256 addresses.
CONTAINER_NETWORK = 24
DriverBranch = Annotated[str, spelt(r"^[0-9]{3}$", 'a branch has three digits, in quotes: "550"')]
# apt ignores files with other characters in their names
RepositoryName = Annotated[
    str, spelt(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "the name of a repository has letters, digits and . _ -")
]
_ARMORED = re.compile(
    r"-----BEGIN PGP PUBLIC KEY BLOCK-----\n([A-Za-z]+: [ -~]*\n)*\n([A-Za-z0-9+/=]+\n)+"
    r"-----END PGP PUBLIC KEY BLOCK-----\n?"
)


def _network(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not an IPv4 network: {error}; write 10.8.0.0/16") from None
    return text


Network = Annotated[str, Field(strict=True), AfterValidator(_network)]


def _port_range(text: str) -> str:
    first, _, last = text.partition("-")
    if not 1 <= int(first) <= int(last or first) <= 65535:
        raise ValueError(f"{quoted(text)} is not a range of ports; write 8000-9000")
    return text


PortRange = Annotated[
    str, spelt(r"^[0-9]{1,5}(-[0-9]{1,5})?$", "write 8000-9000, or one port"), AfterValidator(_port_range)
]


def _repository_key(key: str) -> str:
    if "PRIVATE KEY" in key:
        raise ValueError("this is a private key: anyone who reads it can sign packages (write the public key)")
    if not _ARMORED.fullmatch(key):
        raise ValueError(
            f"{quoted(key)} is not an armored public key; write all lines of `gpg --armor --export` after `key: |`"
        )
    return key


RepositoryKey = Annotated[str, Field(strict=True), AfterValidator(_repository_key)]


class Repository(SourcedEntry):
    """A repository of Debian packages besides the distribution's own."""

    url: Annotated[
        str, spelt(r'^https?://[!"$-~]+$', "an address begins with https:// or http:// and has no spaces and no #")
    ] = Field(description="Address of the repository, as in sources.list.")
    suite: Annotated[
        str,
        spelt(
            r"^[A-Za-z0-9./][A-Za-z0-9._/-]*$",
            "a suite has letters, digits and . _ / -",
            description="Such as trixie; ends with a slash if the repository has no suites: ./",
        ),
    ]
    components: tuple[Name, ...] = Field(
        (), description="Components of the suite, such as main; none if the suite ends with a slash."
    )
    key: RepositoryKey = Field(description="The public key that signs it: the whole armored block.")


class DriverChoice(SourcedEntry):
    """Version and source of the GPU driver of nodes."""

    driver_branch: DriverBranch | None = Field(None, description="Such as 550; default: the distribution's.")
    module: Literal["open", "proprietary"] | None = Field(
        None, description="NVIDIA's open kernel module, for Turing and later GPUs; default: proprietary."
    )
    repository: Name | None = Field(None, description="Key of software.repositories; default: the distribution.")
    version: (
        Annotated[str, spelt(r"^[0-9][A-Za-z0-9.+~]*(-[A-Za-z0-9.+~]+)?$", "a version is such as 550.163.01-2")] | None
    ) = Field(
        None, description="Exact version of the packages, such as 550.163.01-2; default: the newest of the branch."
    )
    cuda: CudaVersion | None = Field(
        None, description="The CUDA version that users need; default: the newest that the driver supports."
    )


class DriverOverride(DriverChoice):
    """Nodes whose driver differs; keys that are not set are taken from software.cuda."""

    where: Nodes


class Cuda(DriverChoice):
    """The GPU driver."""

    where: Nodes
    overrides: tuple[DriverOverride, ...] = Field((), description="Nodes with another driver, each in one entry.")


class DockerPurge(Entry):
    """Ages at which containers and images are removed; a timer `docker-purge` sets nodes and interval."""

    containers_older_than: Duration = Field(description="Since they ended; a running container is never removed.")
    images_older_than: Duration | None = Field(
        None, description="Since their download, if no container uses them; default: images are kept."
    )


class Docker(SourcedEntry):
    """Docker on nodes. Anyone who may use it can become root there."""

    enabled: Flag = Field(True, description="False: planned, not deployed.")
    where: Nodes = "@compute"
    members: Literal["all"] | tuple[Name, ...] = Field(
        "all", description="Who may use it: all users, or a list of users and accounts."
    )
    sudo: Flag = Field(False, description="`sudo docker` works for them without a password, too.")
    gpus: Literal["nv_gpu", "cuda_visible_devices"] = Field(
        "nv_gpu", description="How users get GPUs in containers: by $NV_GPU, or by CUDA_VISIBLE_DEVICES."
    )
    toolkit: Name | None = Field(
        None, description="Key of the repository (software.repositories) with NVIDIA's toolkit; default: no GPUs."
    )
    data_root: PlainPath = Field("/var/lib/docker", description="Directory of images and containers, on a local disk.")
    address_pool: Annotated[str, spelt(r"^[0-9.]+/[0-9]+$", "write a network such as 172.29.0.0/16")] = Field(
        "172.29.0.0/16", description="Addresses of containers; each network gets 256 of them."
    )
    purge: DockerPurge | None = Field(
        None, description="Ages at which containers and images are removed; default: never."
    )


class Download(Entry):
    """A Debian package by its URL."""

    url: Annotated[
        str, spelt(r"^https?://[!-~]+\.deb$", "the address of a package begins with https:// and ends with .deb")
    ] = Field(description="URL of the .deb file.")
    sha256: Annotated[str, spelt(r"^[0-9a-f]{64}$", "a sha256 has 64 digits of 0 to 9 and a to f")] = Field(
        description="SHA-256 of the file, 64 hexadecimal digits."
    )


class Singularity(SourcedEntry):
    """Singularity (Apptainer) on nodes."""

    enabled: Flag = Field(True, description="False: planned, not deployed.")
    where: Nodes = "@compute"
    repository: Name | None = Field(
        None, description="Key of the repository (software.repositories) of apptainer; no other package is used of it."
    )
    package: Download | None = Field(None, description="The package apptainer itself, instead of a repository.")
    fakeroot: Flag = Field(False, description="Users can build images: each gets 65536 subordinate user and group ids.")
    dev: Literal["full", "minimal"] = Field("full", description="minimal: containers see GPUs only with --nv.")
    scratch: PathOfUser | None = Field(
        None, description="Directory of a user's cache and temporary files, on a local disk; default: home and /tmp."
    )


class Image(SourcedEntry):
    """A container image kept on the nodes."""

    source: Annotated[
        str, spelt(r"^([a-z]+://)?[A-Za-z0-9][A-Za-z0-9._:/@-]*$", "an image is such as docker://ubuntu:24.04")
    ] = Field(description="The image, such as docker://ubuntu:24.04.")
    at: PlainPath | None = Field(None, description="Path of the file; only for singularity.")
    runtime: Literal["singularity", "docker"] = Field(
        "singularity", description="The runtime that keeps it: a file for singularity, docker's own storage."
    )
    where: Nodes | None = Field(None, description="Default: all nodes of the runtime.")


class Software(SourcedEntry):
    """Installed software."""

    distribution: NodeSystem | None = Field(
        None,
        description=(
            "The distribution of the nodes, by its name or its suite; `hardware` and `nodes` may name another one; "
            "default: debian-13."
        ),
    )
    debian: Literal["bookworm", "trixie", "sid"] | None = Field(
        None, description="The former name of `distribution`.", json_schema_extra={"deprecated": True}
    )
    clock: Literal["systemd-timesyncd", "chrony", "ntpsec"] | None = Field(
        None, description="The package that keeps the nodes' time; default: the distribution's. Its settings are yours."
    )
    packages: dict[Name, tuple[Word, ...]] = Field(
        default_factory=dict,
        description="Debian packages by role, `all` for every node; name=version pins a version.",
    )
    repositories: dict[RepositoryName, Repository] = Field(
        default_factory=dict, description="Repositories besides the distribution's, by name."
    )
    cuda: Cuda | None = Field(None, description="The GPU driver; default: not installed.")
    docker: Docker | None = Field(None, description="Docker on nodes; default: not installed.")
    singularity: Singularity | None = Field(
        None, description="Singularity (Apptainer) on nodes; default: not installed."
    )
    conda: Conda | None = Field(None, description="Conda; default: not set up.")
    modules: Modules | None = Field(None, description="Environment modules (Lmod); default: not installed.")
    images: tuple[Image, ...] = Field((), description="Container images that nodes download.")

    @property
    def system(self) -> Distribution:
        """The distribution of nodes that name none, nor their hardware."""
        return release_of(self.distribution or self.debian or DEFAULT_SYSTEM)


class AcceptEnv(Entry):
    """Environment variables that SSH clients may send."""

    where: Nodes
    names: tuple[AcceptedName, ...] = Field(description="Names of the variables; * and ? match as in sshd_config.")


class JobDirectory(Entry):
    """A private directory for each job on each of its nodes, removed when the job ends."""

    path: PlainPath = Field(description="Local directory of compute nodes that holds them.")
    env: VariableName = Field("JOBSCRATCH", description="Environment variable of jobs with its path.")
    min_free: Size = Field(1024, description="With less free space, a job starts without a private directory.")


class Environment(SourcedEntry):
    """Environment variables; values may contain {user} and {account}."""

    accept_env: AcceptEnv | None = Field(None, description="Variables that SSH clients may send; default: none.")
    login: dict[VariableName, TextOfUser] = Field(
        default_factory=dict, description="Variables of login shells, with {user} and {account}."
    )
    job: dict[VariableName, TextOfUser] = Field(
        default_factory=dict, description="Variables of jobs, with {user} and {account}."
    )
    private_tmp: PlainPath | None = Field(
        None,
        description="Local directory of compute nodes for the private /tmp and /dev/shm of each job.",
    )
    job_directory: JobDirectory | None = Field(
        None, description="A private directory for each job on its nodes; default: none."
    )


class Tool(SourcedEntry):
    """A program that comes with gpupool."""

    name: Word = Field(description="Name of the program.")
    where: Nodes
    options: dict[Name, Word | Count] = Field(
        default_factory=dict, description="Its defaults, such as gpus: 1 of sbash."
    )


class Timer(SourcedEntry):
    """A periodic task on nodes, except for storage."""

    job: Literal["docker-purge", "reaper", "shm-clean"] = Field(
        description="shm-clean: remove files in /dev/shm and /tmp of users whose last job on the node has ended."
    )
    every: Duration | None = Field(None, description="Time between two runs; or set `when`.")
    when: Literal["job-end"] | None = Field(None, description="The event that starts it; or set `every`.")
    where: Nodes


class AdminSsh(Entry):
    """How gpupool logs in to nodes."""

    user: Name | None = Field(None, description="Login name; default: that of ~/.ssh/config, else root.")
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(
        None, description="Port of sshd; default: that of ~/.ssh/config, else 22."
    )
    key: Word | None = Field(
        None,
        description="Path of the private key on the admin's machine; default: that of ~/.ssh/config, else "
        "the keys of the SSH agent.",
    )
    network: NetworkName | None = Field(
        None,
        description="A network of cluster.networks, at whose addresses gpupool logs in; nodes without one there: at "
        "their `address`. Default: cluster.network.",
    )
    networks: tuple[Network, ...] = Field(
        (),
        description="Networks outside of the cluster's that admins log in from: all nodes accept SSH from them.",
    )

    @property
    def user_on_nodes(self) -> str:
        """Return the login name that nodes accept; it does not depend on an admin's ~/.ssh/config."""
        return self.user or "root"

    @property
    def port_on_nodes(self) -> int:
        """Return the port that firewalls of nodes accept, in addition to 22."""
        return self.port or 22


class Access(SourcedEntry):
    """The logins that each kind of node accepts."""

    admin: AdminSsh = Field(default_factory=AdminSsh, description="How gpupool logs in to nodes.")
    compute_ssh: Literal["open", "allocated", "none"] = Field(
        "allocated", description="Users on compute nodes: always, only with a running job there, never."
    )
    fileserver_ssh: Literal["open", "admins"] = Field("admins", description="Users on fileservers: always, never.")
    controller_ssh: Literal["open", "admins"] = Field(
        "admins", description="Users on controllers and the database's node: always, never."
    )
    password_login: Flag = Field(False, description="Users may log in with a password; default: only with keys.")
    keys: Literal["inventory", "homes", "site"] = Field(
        "inventory",
        description=(
            "How users without password prove who they are: by `users[].keys`; by keys that already are in their "
            "homes' ~/.ssh/authorized_keys, or that an admin adds there; by a method that the site adds to sshd, such "
            "as Kerberos or a certificate authority."
        ),
    )
    host_based: Flag = Field(
        False,
        description="Users on a head log in to compute nodes by host-based authentication, without password or key.",
    )
    agent_forwarding: Flag = Field(False, description="sshd forwards users' SSH agents; default: no.")
    outside: tuple[Literal[Role, "vpn"], ...] = Field(
        (),
        description=(
            "Roles that can be reached from outside of cluster.network, or `vpn`; all other nodes refuse new "
            "connections from there. Default: no node refuses any."
        ),
    )
    vpn: tuple[Network, ...] = Field((), description="Address ranges of the VPN's clients.")
    gateway_forwards_to: tuple[Name, ...] = Field(
        (), description="Nodes that users on a gateway may log in to; default: all."
    )
    other_groups: tuple[Name, ...] = Field(
        (), description="Unix groups that gpupool does not create, such as a directory's; for partitions.allow_groups."
    )


class HeadNodes(SourcedEntry):
    """Limits of each user on a head node."""

    cpu_per_user: Annotated[
        str,
        spelt(
            r"^[1-9][0-9]{0,5}%$",
            "write a share such as 200%",
            description="CPU time of all processes of a user together: 200% are two logical CPUs.",
        ),
    ]
    memory_per_user: Size = Field(description="Memory of all processes of a user together, with its unit: 4G.")
    tasks_per_user: Annotated[int, Field(strict=True, ge=64, le=4194304)] = Field(
        4096, description="Maximum processes and threads of a user."
    )
    linger: Flag = Field(True, description="Processes of a user, such as tmux, keep running after the last session.")


class Reaper(SourcedEntry):
    """Ends users' processes outside of Slurm, on compute nodes that are not heads; `timers` sets how often."""

    grace: Duration = Field(description="Time from the first sight of a process outside of jobs to its end.")
    spare_users: tuple[Name, ...] = Field(("root", "slurm"), description="Users whose processes are never ended.")
    spare_docker_of_jobs: Flag = Field(
        True, description="Keep a container while a job that may have started it runs on the node."
    )


class DevPorts(SourcedEntry):
    """Ports for users' own servers."""

    range: PortRange = Field(description="The ports, such as 8000-9000, or one port.")
    open_to: Literal["cluster", "vpn", "all"] = Field(
        description="Where connections may come from: the cluster's network, the VPN too, or everywhere."
    )
    where: Nodes | None = Field(None, description="Default: all nodes.")


class Policies(SourcedEntry):
    """Site policies."""

    head_nodes: HeadNodes | None = Field(None, description="Limits of each user on head nodes; default: none.")
    reaper: Reaper | None = Field(
        None, description="Ends users' processes outside of jobs on compute nodes; default: off."
    )
    dev_ports: DevPorts | None = Field(None, description="Ports for users' own servers; default: none.")
    # PAM refuses all logins if the limit is above the kernel's fs.nr_open
    nofile: Annotated[int, Field(strict=True, ge=1024, le=1048576)] | None = Field(
        None, description="Maximum open files per process, in sessions and jobs."
    )
    home_mode: Mode | None = Field(None, description="Mode of new homes; default: storage.home.mode.")
    vscode_kill: Nodes | None = Field(None, description="Nodes on which abandoned VS Code servers are ended.")
    jobs_of_removed_users: Literal["finish", "end"] = Field(
        "finish",
        description="Running jobs of a user who is removed from `users` or from an account: they finish, or apply "
        "ends them. Pending jobs are always cancelled.",
    )
    reboot_only_idle: Flag = Field(
        True, description="Compute nodes refuse `reboot` and similar commands while a job runs on them."
    )
