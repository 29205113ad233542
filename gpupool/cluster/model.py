"""The Cluster: a checked and resolved inventory. It is frozen and always valid."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Literal

from gpupool.addresses import name_in
from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.schema import labs
from gpupool.cluster.schema.access import Access
from gpupool.cluster.schema.directory import Directory
from gpupool.cluster.schema.environment import Environment
from gpupool.cluster.schema.labs import Limits, PreemptAction, Qos
from gpupool.cluster.schema.machines import Cloud, ClusterEntry, Gpu, GpuType, Hardware
from gpupool.cluster.schema.managed import ROLES
from gpupool.cluster.schema.policies import Policies
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.schema.scheduling import Preemption, Scheduler, Slurm
from gpupool.cluster.schema.site_files import SiteFile
from gpupool.cluster.schema.software import Software
from gpupool.cluster.schema.storage import Export, Storage
from gpupool.cluster.schema.testbed import Testbed
from gpupool.cluster.schema.tools import Timer, Tool
from gpupool.distributions.tables import Distribution
from gpupool.slurm.partitions import admits
from gpupool.slurm.releases import has
from gpupool.unix import within


@dataclass(frozen=True)
class OutOfService:
    """A node, or its `devices`, that runs no jobs for a while; without `devices`, the whole node."""

    reason: str
    until: date | None = None
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. `memory` is Slurm's RealMemory in MiB; `cpus` are logical CPUs; `gpus` counts by type.

    `local_disk` is Slurm's TmpDisk in MiB; None if the inventory has no disk for jobs.

    `hardware` is the entry of its model; None for a node without one, which has no CPUs and no memory. `devices` are
    its GPUs one by one, `gres` counts of the site's other resources. `gpus` and `devices` are those in service;
    `installed` are all devices, if some of them are out of service. `cpus_kept` is the number of CPUs that each GPU
    keeps for its job; 0 if this Slurm cannot keep any. Selectors and roles use `name`; `slurm_name` is the NodeName in
    slurm.conf. `system` is the distribution that the node runs. `managed_roles` are the modules of `gpupool.roles` that
    the inventory's `manage` has for the node. `dns_name` is where daemons reach a node without an IPv4 address,
    `hostname` the name of its machine, if Slurm has another one for the node: both only if gpupool does not manage it.
    `addresses` are those in further networks, by network; `slurm_address` and `ssh_address` are those of them that
    Slurm's daemons and gpupool's SSH use in place of `address`.
    """

    name: str
    slurm_name: str
    fqdn: str
    address: str | None
    roles: tuple[str, ...]
    cpus: int
    memory: int
    local_disk: int | None
    gpus: Mapping[str, int]
    cpus_kept: int
    features: tuple[str, ...]
    managed: bool
    elastic: bool
    system: Distribution
    parameters: Mapping[str, str] = field(default_factory=dict)
    hardware: Hardware | None = None
    devices: tuple[Device, ...] = ()
    gres: Mapping[str, int] = field(default_factory=dict)
    out_of_service: tuple[OutOfService, ...] = ()
    installed: tuple[Device, ...] = ()
    managed_roles: frozenset[str] = frozenset(ROLES)
    dns_name: str | None = None
    hostname: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    slurm_address: str | None = None
    ssh_address: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return what pyinfra's command line prints of the node."""
        plain = ("name", "address", "roles", "cpus", "memory", "gpus", "features")
        return {name: getattr(self, name) for name in plain}

    def has(self, *roles: str) -> bool:
        """Return whether the node has any of these roles."""
        return not {*roles}.isdisjoint(self.roles)

    def manages(self, *roles: str) -> bool:
        """Return whether gpupool manages any of these roles of `gpupool.roles` here."""
        return not self.managed_roles.isdisjoint(roles)

    @property
    def reached_at(self) -> str | None:
        """Where Slurm's daemons reach the node: its IPv4 address or its DNS name; None if its own name leads there."""
        return self.slurm_address or self.address or self.dns_name

    @property
    def logged_in_at(self) -> str | None:
        """The address to which gpupool's SSH connects."""
        return self.ssh_address or self.address

    def serves_at(self, network: str | None) -> str:
        """Return where clients find the node's exports: its address in a further network, or its long name.

        An address, because only the /etc/hosts that gpupool writes has its names in further networks.
        """
        return self.addresses[network] if network else self.fqdn

    @property
    def all_addresses(self) -> tuple[str, ...]:
        """Its IPv4 addresses in all networks."""
        return (*((self.address,) if self.address else ()), *self.addresses.values())

    @property
    def further_names(self) -> Mapping[str, tuple[str, ...]]:
        """Its names in further networks by address, such as a40-01-fabric: the long one first."""
        names = (self.fqdn, self.name)
        return {
            address: tuple(dict.fromkeys(name_in(name, network) for name in names))
            for network, address in self.addresses.items()
        }

    @property
    def known_as(self) -> tuple[str, ...]:
        """All names and addresses by which other nodes reach it, its own name first."""
        further = (word for address, names in self.further_names.items() for word in (*names, address))
        return tuple(dict.fromkeys(word for word in (self.name, self.fqdn, self.address, *further) if word))

    @property
    def manages_all(self) -> bool:
        """Whether gpupool manages all roles here."""
        return len(self.managed_roles) == len(ROLES)

    @property
    def gpu_count(self) -> int:
        """The number of GPUs of all types."""
        return sum(self.gpus.values())

    @property
    def all_devices(self) -> tuple[Device, ...]:
        """The GPUs one by one, those out of service included."""
        return self.installed or self.devices

    @property
    def all_gpus(self) -> Mapping[str, int]:
        """The counts of all GPUs by type, those out of service included, as limits and promises count them."""
        return Counter(device.gpu for device in self.installed) if self.installed else self.gpus

    @property
    def all_gpu_count(self) -> int:
        """The number of all GPUs, those out of service included."""
        return sum(self.all_gpus.values())

    @property
    def drained_for(self) -> str | None:
        """The reason for which the whole node is out of service; None if it is in service."""
        return next((one.reason for one in self.out_of_service if not one.devices), None)

    def in_service(self) -> "Node":
        """Return the node as it is when nothing is out of service."""
        if not self.out_of_service:
            return self
        return replace(self, gpus=self.all_gpus, devices=self.all_devices, installed=(), out_of_service=())

    @property
    def nvidia_minors(self) -> list[int]:
        """The N of each /dev/nvidiaN that NVIDIA's driver creates, in order."""
        return minors(self.devices)

    @property
    def minors_out_of_service(self) -> list[int]:
        """The N of each /dev/nvidiaN whose GPU is out of service, in order."""
        return minors([device for one in self.out_of_service for device in one.devices])

    @property
    def job_cpus(self) -> int:
        """Logical CPUs that jobs can get."""
        return self.hardware.job_cpus if self.hardware else self.cpus

    @property
    def job_memory(self) -> int:
        """Memory in MiB that jobs can get."""
        return max(0, self.memory - self.hardware.memory_kept) if self.hardware else self.memory

    @property
    def runs_slurm(self) -> bool:
        """Whether any part of Slurm runs here, even if only its commands."""
        return self.has("head", "controller", "backup-controller", "database", "compute")


@dataclass(frozen=True)
class Account:
    """A Slurm account with the values that the inventory resolves; `entry` has all others as written.

    `limits` include a lab's cap. `exact` is False if another system also manages the account in slurmdbd.
    `coordinators` are users. `nodes` are the names of the nodes that it owns; `owns` is how much it owns of a GPU type,
    or of `cpu`.
    """

    entry: labs.Account
    name: str
    parent: str
    limits: Limits
    exact: bool
    tier: Literal["standard", "premium"]
    coordinators: tuple[str, ...]
    nodes: tuple[str, ...]
    owns: Mapping[str, int]


@dataclass(frozen=True)
class User:
    """A person with all accounts and QoS; `entry` has all other values as written.

    `uid` is the user's id on every node; where the inventory has none, it is made up, and only a twin has it.
    `gid` is that of the default account's group; None if it has none. `accounts` are all that the user's jobs may use,
    `own_accounts` those of the user's entry, both with the default one first. `qos` are valid in all accounts,
    `account_qos` in one. `home` is a path.
    """

    entry: labs.User
    name: str
    uid: int
    gid: int | None
    own_accounts: tuple[str, ...]
    accounts: tuple[str, ...]
    qos: tuple[str, ...]
    account_qos: Mapping[str, tuple[str, ...]] = field(hash=False)
    home: str

    @property
    def account(self) -> str:
        """The account of jobs without --account."""
        return self.entry.account

    def ended_on(self, day: date) -> bool:
        """Return whether the user's access has ended."""
        return self.entry.until is not None and day > self.entry.until

    def qos_on(self, day: date, account: str) -> tuple[str, ...]:
        """Return the QoS that the user has on a day for jobs of an account, grants included."""
        granted = (grant.qos for grant in self.entry.grants if day <= grant.until)
        return tuple(dict.fromkeys((*self.qos, *self.account_qos[account], *granted)))


@dataclass(frozen=True)
class Partition:
    """A partition with the values that the inventory resolves; `entry` has all others as written. Times in seconds.

    `nodes` are names. `default_time` is None if jobs without --time get `max_time`; `without_gpu` is `refuse`, or the
    partition for jobs without GPUs. A partition is `preemptable` by its tier, or if each QoS that it allows is:
    `action` and `grace` are then those of the QoS.
    """

    entry: labs.Partition
    name: str
    nodes: tuple[str, ...]
    default_time: int | None
    default: bool
    preemptable: bool
    action: PreemptAction | Literal["suspend"]
    grace: int
    allow_accounts: tuple[str, ...]
    deny_accounts: tuple[str, ...]
    limits: Limits
    without_gpu: str | None


@dataclass(frozen=True)
class Mount:
    """An export as a node mounts it; `entry` has all other values as written.

    `export` is its key, `path` the directory on the server, `at` its directory on clients, and `source` `server:path`
    with the server's full name, or its address in the export's network. If the site mounts it, `source` is the kind of
    file system, and `server` a node that creates directories on it, or empty. `dataset` is the name in ZFS; None
    outside of declared pools.
    """

    entry: Export
    export: str
    server: str
    path: str
    source: str
    at: str
    nodes: tuple[str, ...]
    dataset: str | None

    @property
    def by_site(self) -> bool:
        """Whether the site mounts it, instead of gpupool."""
        return self.entry.mounted_by == "site"

    @property
    def mount_point(self) -> str:
        """Where clients mount it: at `at`, or above it if `at` is a directory of the site's file system."""
        return self.entry.mount_point or self.at

    @cached_property
    def clients(self) -> frozenset[str]:
        """The same nodes as a set, for fast look-up."""
        return frozenset(self.nodes)

    def holds(self, path: str) -> bool:
        """Return whether a path of a client is on this mount."""
        return within(path, self.at)


@dataclass(frozen=True)
class Drivers:
    """The implementation of the nodes: real hardware, or a testbed's replacements.

    `cgroup` is the cgroup version of the nodes; `shared` is where a testbed's nodes find their shared directories;
    `machines` are the testbed's nodes that have a separate kernel. `cpus` is `claimed` if compute nodes have fewer
    CPUs than slurm.conf declares.
    """

    gpu: Literal["nvidia", "fake"]
    storage: Literal["nfs", "standin"]
    cgroup: Literal["v1", "v2"] = "v2"
    shared: str | None = None
    machines: frozenset[str] = frozenset()
    cpus: Literal["real", "claimed"] = "real"

    @property
    def testbed(self) -> bool:
        """Whether the nodes are those of a testbed."""
        return self.shared is not None

    def contained(self, node: str) -> bool:
        """Return whether a node is a container, which shares the kernel and the clock of its host."""
        return self.testbed and node not in self.machines

    def real_storage(self, *nodes: str) -> bool:
        """Return whether all these nodes have real file systems, not a testbed's replacements."""
        return self.storage == "nfs" or all(node in self.machines for node in nodes)


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections of the inventory that the Cluster has as written, by the inventory's own keys.

    A key in them that the Cluster resolves, such as `storage.exports`, must be read from the Cluster's own fields.
    """

    directory: Directory | None
    qos: Mapping[str, Qos]
    reservations: tuple[Reservation, ...]
    gpu: Gpu
    cloud: Cloud | None
    slurm: Slurm
    scheduler: Scheduler
    preemption: Preemption
    storage: Storage
    software: Software
    environment: Environment
    tools: tuple[Tool, ...]
    files: tuple[SiteFile, ...]
    timers: tuple[Timer, ...]
    examples: tuple[str, ...]
    access: Access
    policies: Policies
    testbed: Testbed | None


@dataclass(frozen=True, eq=False)
class Cluster(Sections):
    """One whole cluster. Mappings keep the order of the inventory; `attached` are its files that are not YAML.

    `suspended` are texts on what is out of service, and on the promises that this suspends.
    `newcomers` are users by account, for each account with members from the directory: all values of such a member
    except name and uid. `nodes_with_rights` are the names of nodes where a lab has a right to anything.

    Clusters compare by identity, so that results can be cached for each.
    """

    entry: ClusterEntry
    nodes: Mapping[str, Node]
    accounts: Mapping[str, Account]
    users: Mapping[str, User]
    newcomers: Mapping[str, User]
    partitions: Mapping[str, Partition]
    mounts: tuple[Mount, ...]
    links: Mapping[str, str]
    links_on: frozenset[str]
    attached: Mapping[str, str]
    testbed_nodes: tuple[str, ...]
    drivers: Drivers
    nodes_with_rights: frozenset[str]
    suspended: tuple[str, ...]
    _gpu_types: Mapping[str, GpuType] = field(repr=False)
    _select: Callable[[str], tuple[str, ...]] = field(repr=False)
    _selected: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False)
    _having: dict[tuple[str, ...], tuple[Node, ...]] = field(default_factory=dict, init=False, repr=False)

    def select(self, selector: str) -> frozenset[str]:
        """Return the names of the nodes that a selector such as `@compute!vicki` selects."""
        if selector not in self._selected:
            self._selected[selector] = frozenset(name for name in self._select(selector) if name in self.nodes)
        return self._selected[selector]

    @property
    def default_qos(self) -> str | None:
        """The QoS of jobs without --qos, in accounts without a default QoS; None if the inventory sets none."""
        return next((name for name, qos in self.qos.items() if qos.default), None)

    @property
    def preempts_by_qos(self) -> bool:
        """Whether jobs are preempted by their QoS, instead of the tiers of their partitions."""
        return any(qos.preemptable for qos in self.qos.values())

    @property
    def preempts(self) -> bool:
        """Whether any job may be preempted."""
        return self.preempts_by_qos or any(partition.preemptable for partition in self.partitions.values())

    def in_service(self) -> "Cluster":
        """Return the cluster as it is when nothing is out of service."""
        nodes = {name: node.in_service() for name, node in self.nodes.items()}
        return replace(self, nodes=nodes) if self.suspended else self

    def groups_of(self, user: User) -> tuple[str, ...]:
        """Return the Unix groups of a user that the inventory defines, the primary one first."""
        return (
            *(() if user.gid else ("people",)),
            *(account for account in user.own_accounts if self.accounts[account].entry.gid),
        )

    def admits_user(self, partition: Partition, user: User) -> bool:
        """Return whether `users` and `allow_groups` of a partition admit a user, by the inventory's groups alone."""
        entry = partition.entry
        if entry.is_assigned and partition.name not in user.entry.partitions:
            return False
        return not entry.allow_groups or not {*entry.allow_groups}.isdisjoint(self.groups_of(user))

    def admits(self, partition: Partition, account: str) -> bool:
        """Return whether jobs of an account may run in a partition, for any user."""
        return admits(self.matching_accounts(account), partition.allow_accounts, partition.deny_accounts)

    @property
    def name(self) -> str:
        """Slurm's ClusterName."""
        return self.entry.name

    def to_json(self) -> str:
        """Return what pyinfra's command line prints of the cluster."""
        return self.name

    def having(self, *roles: str) -> tuple[Node, ...]:
        """Return the nodes with any of these roles, in inventory order."""
        if roles not in self._having:
            self._having[roles] = tuple(node for node in self.nodes.values() if node.has(*roles))
        return self._having[roles]

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks of all nodes' addresses; the first is that of `address`."""
        return (self.entry.network, *self.entry.networks.values())

    @property
    def controllers(self) -> tuple[Node, ...]:
        """The controller, then the backup controllers."""
        return (*self.having("controller"), *self.having("backup-controller"))

    @property
    def database(self) -> Node:
        """The node with slurmdbd."""
        return self.having("database")[0]

    @property
    def home_export(self) -> Mount | None:
        """The export with the homes; None if homes are local."""
        return next((mount for mount in self.mounts if mount.export == self.storage.home.export), None)

    def matching_accounts(self, account: str) -> frozenset[str]:
        """Return the accounts by which AllowAccounts matches an account: itself, and in newer Slurm its ancestors."""
        accounts = self.with_parents(account)
        return frozenset(accounts if has(self.slurm.version, "hierarchical AllowAccounts") else accounts[:1])

    def with_parents(self, account: str) -> tuple[str, ...]:
        """Return the names of an account and its ancestors, nearest first; empty for an unknown account."""
        names: dict[str, None] = {}
        while account in self.accounts and account not in names:
            names[account] = None
            account = self.accounts[account].parent
        return tuple(names)

    def qos_of(self, account: str) -> str | None:
        """Return the default QoS of an account; None for the cluster's default."""
        return next((name for name, qos in self.qos.items() if account in qos.default_for), None)

    @cached_property
    def gpu_types(self) -> Mapping[str, GpuType]:
        """The GPU types of compute nodes; an inventory may define more."""
        have = {gpu for node in self.having("compute") for gpu in node.all_gpus}
        return {name: gpu for name, gpu in self._gpu_types.items() if name in have}

    def owned_gpus(self, account: Account) -> int | None:
        """Return the GPUs of an account's cap, or of the nodes that it owns; None if it has neither."""
        if account.limits.group.gpu is None and account.nodes:
            return sum(self.nodes[name].all_gpu_count for name in account.nodes if name in self.nodes)
        return account.limits.group.gpu

    @cached_property
    def total_gpus(self) -> int:
        """The number of GPUs of all compute nodes, those out of service included."""
        return sum(node.all_gpu_count for node in self.having("compute"))
