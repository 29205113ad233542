"""The Cluster: an inventory checked and resolved. Frozen; no half-valid one exists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal

from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.schema import labs
from gpupool.cluster.schema.directory import Directory
from gpupool.cluster.schema.labs import Limits, PreemptAction, Qos
from gpupool.cluster.schema.machines import Cloud, ClusterEntry, Gpu, GpuType, Hardware
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.schema.scheduling import Preemption, Scheduler, Slurm
from gpupool.cluster.schema.software import Access, Environment, Policies, Software, Timer, Tool
from gpupool.cluster.schema.storage import Export, Storage
from gpupool.cluster.schema.testbed import Testbed
from gpupool.slurm.partitions import admits
from gpupool.slurm.releases import has
from gpupool.unix import within


@dataclass(frozen=True)
class Node:
    """A machine. `memory` is what Slurm is told of, in MiB; `cpus` are logical CPUs; `gpus` counts by type.

    `hardware` is all that is said of its model; None where it is of none, and has neither CPUs nor memory. `devices`
    are its GPUs one by one, `gres` counts of what the site has besides. `cpus_kept` is how many CPUs each GPU keeps for
    the job that has it; 0 where this Slurm cannot keep any.
    Selectors and roles go by `name`; `slurm_name` is what Slurm calls the node where it runs jobs.
    """

    name: str
    slurm_name: str
    fqdn: str
    address: str | None
    roles: tuple[str, ...]
    cpus: int
    memory: int
    gpus: Mapping[str, int]
    cpus_kept: int
    features: tuple[str, ...]
    managed: bool
    elastic: bool
    parameters: Mapping[str, str] = field(default_factory=dict)
    hardware: Hardware | None = None
    devices: tuple[Device, ...] = ()
    gres: Mapping[str, int] = field(default_factory=dict)

    def has(self, *roles: str) -> bool:
        """Return whether the node has any of these roles."""
        return not {*roles}.isdisjoint(self.roles)

    @property
    def gpu_count(self) -> int:
        """GPUs of all types."""
        return sum(self.gpus.values())

    @property
    def nvidia_minors(self) -> list[int]:
        """The N of the /dev/nvidiaN that NVIDIA's driver makes, in order."""
        return minors(self.devices)

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
        """Whether any part of Slurm runs here, if only its commands."""
        return self.has("head", "controller", "backup-controller", "database", "compute")


@dataclass(frozen=True)
class Account:
    """A Slurm account; what the inventory resolves is here, and `entry` has all else as it is written.

    `limits` are all of its limits, a lab's cap among them. `exact` is False where another system keeps the account in
    slurmdbd, too. `coordinators` are users. `nodes` are those that it owns, by name; `owns` is how much it owns of a
    GPU type, or of `cpu`.
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
    """A person with every account and QoS; what the inventory resolves is here, and `entry` has all else.

    `gid` is that of the default account's group; None where it has none. `accounts` are all that jobs may be on,
    `own_accounts` those of the user's entry, both with the default one first. `qos` are good in each of them,
    `account_qos` in one. `home` is a path.
    """

    entry: labs.User
    name: str
    gid: int | None
    own_accounts: tuple[str, ...]
    accounts: tuple[str, ...]
    qos: tuple[str, ...]
    account_qos: Mapping[str, tuple[str, ...]] = field(hash=False)
    home: str

    @property
    def uid(self) -> int:
        """The number by which every node knows the user."""
        return self.entry.uid

    @property
    def account(self) -> str:
        """The account of jobs that name none."""
        return self.entry.account

    def ended_on(self, day: date) -> bool:
        """Return whether the user's access is over."""
        return self.entry.until is not None and day > self.entry.until

    def qos_on(self, day: date, account: str) -> tuple[str, ...]:
        """Return the QoS that the user has on a day for jobs of an account, granted ones among them."""
        granted = (grant.qos for grant in self.entry.grants if day <= grant.until)
        return tuple(dict.fromkeys((*self.qos, *self.account_qos[account], *granted)))


@dataclass(frozen=True)
class Partition:
    """A partition; what the inventory resolves is here, and `entry` has all else as it is written. Seconds for times.

    `nodes` are names. `default_time` is None where jobs without --time get all of `max_time`; `without_gpu` is
    `refuse`, or the partition where jobs without GPUs go. `preemptable` is by its tier, or by each QoS that it allows,
    and `action` and `grace` are then those of the QoS.
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
    """An export as a node mounts it; what the inventory resolves is here, and `entry` has all else as it is written.

    `export` is its key, `path` is the server's and `at` the client's; `source` is `server:path` with the server's full
    name, or the kind of file system where others mount it. `server` is then a node that makes directories on it, or
    empty. `dataset` is the name in ZFS; None where it is on no declared pool.
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
        """Whether others mount it."""
        return self.entry.mounted_by == "site"

    @cached_property
    def clients(self) -> frozenset[str]:
        """The same nodes, quick to look one up."""
        return frozenset(self.nodes)

    def holds(self, path: str) -> bool:
        """Return whether a path of a client lies on it."""
        return within(path, self.at)


@dataclass(frozen=True)
class Drivers:
    """What stands behind nodes: real hardware, or a testbed's stand-ins.

    `cgroup` is the version of the nodes' control groups; `shared` where a testbed's nodes find their shared
    directories; `machines` are those of a testbed's nodes that have a kernel of their own. `cpus` are `claimed` where
    compute nodes have not the CPUs that the inventory says.
    """

    gpu: Literal["nvidia", "fake"]
    storage: Literal["nfs", "standin"]
    cgroup: Literal["v1", "v2"] = "v2"
    shared: str | None = None
    machines: frozenset[str] = frozenset()
    cpus: Literal["real", "claimed"] = "real"

    @property
    def testbed(self) -> bool:
        """Whether the nodes only stand for the machines that the inventory describes."""
        return self.shared is not None

    def contained(self, node: str) -> bool:
        """Return whether a node is a container: younger than the kernel under it, and without a clock of its own."""
        return self.testbed and node not in self.machines

    def real_storage(self, *nodes: str) -> bool:
        """Return whether all these nodes have file systems for real, not a testbed's stand-ins."""
        return self.storage == "nfs" or all(node in self.machines for node in nodes)


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections of the inventory that the Cluster has as they are written, by the inventory's own keys.

    A key in them that the Cluster resolves, such as `storage.exports`, is read from the Cluster's own fields instead.
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
    timers: tuple[Timer, ...]
    examples: tuple[str, ...]
    access: Access
    policies: Policies
    testbed: Testbed | None


@dataclass(frozen=True, eq=False)
class Cluster(Sections):
    """One cluster, whole. Mappings keep the order of the inventory; `attached` are its files that are not YAML.

    `newcomers` are users by account, one for each whose members come from the directory: what any of them would have,
    without a name and a number of its own.

    It equals itself only, so that what is worked out from it can be kept by it.
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
    _gpu_types: Mapping[str, GpuType] = field(repr=False)
    _select: Callable[[str], tuple[str, ...]] = field(repr=False)
    _selected: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False)
    _having: dict[tuple[str, ...], tuple[Node, ...]] = field(default_factory=dict, init=False, repr=False)

    def select(self, selector: str) -> frozenset[str]:
        """Return the names of the cluster's nodes that a selector such as `@compute!vicki` means."""
        if selector not in self._selected:
            self._selected[selector] = frozenset(name for name in self._select(selector) if name in self.nodes)
        return self._selected[selector]

    @property
    def default_qos(self) -> str | None:
        """The QoS of jobs that name none, in accounts without one of their own; None where the inventory says none."""
        return next((name for name, qos in self.qos.items() if qos.default), None)

    @property
    def preempts_by_qos(self) -> bool:
        """Whether jobs are preempted by their QoS, and not by the tiers of their partitions."""
        return any(qos.preemptable for qos in self.qos.values())

    @property
    def preempts(self) -> bool:
        """Whether any job may be preempted."""
        return self.preempts_by_qos or any(partition.preemptable for partition in self.partitions.values())

    def groups_of(self, user: User) -> tuple[str, ...]:
        """Return the unix groups of a user that the inventory makes, the primary one first."""
        return (
            *(() if user.gid else ("people",)),
            *(account for account in user.own_accounts if self.accounts[account].entry.gid),
        )

    def let_in(self, partition: Partition, user: User) -> bool:
        """Return whether `users` and `allow_groups` of a partition let a user submit; who is not known is not."""
        entry = partition.entry
        if entry.is_assigned and partition.name not in user.entry.partitions:
            return False
        return not entry.allow_groups or not {*entry.allow_groups}.isdisjoint(self.groups_of(user))

    def admits(self, partition: Partition, account: str) -> bool:
        """Return whether jobs of an account may run in a partition, whoever submits them."""
        return admits(self.line_of(account), partition.allow_accounts, partition.deny_accounts)

    @property
    def name(self) -> str:
        """Slurm's ClusterName."""
        return self.entry.name

    def having(self, *roles: str) -> tuple[Node, ...]:
        """Return the nodes with any of these roles, in inventory order."""
        if roles not in self._having:
            self._having[roles] = tuple(node for node in self.nodes.values() if node.has(*roles))
        return self._having[roles]

    @property
    def controllers(self) -> tuple[Node, ...]:
        """The controller, then the backup controllers."""
        return (*self.having("controller"), *self.having("backup-controller"))

    @property
    def database(self) -> Node:
        """The node of slurmdbd."""
        return self.having("database")[0]

    @property
    def home_export(self) -> Mount | None:
        """The export that holds the homes; None where homes are each node's own."""
        return next((mount for mount in self.mounts if mount.export == self.storage.home.export), None)

    def line_of(self, account: str) -> frozenset[str]:
        """Return the accounts by which a partition knows an account: itself, and in newer Slurm those above it."""
        accounts = self.with_parents(account)
        return frozenset(accounts if has(self.slurm.version, "hierarchical AllowAccounts") else accounts[:1])

    def with_parents(self, account: str) -> tuple[str, ...]:
        """Return the names of an account and those above it, nearest first; none for one that is not there."""
        names: dict[str, None] = {}
        while account in self.accounts and account not in names:
            names[account] = None
            account = self.accounts[account].parent
        return tuple(names)

    def qos_of(self, account: str) -> str | None:
        """Return the QoS that users have by default in an account; None for the cluster's default."""
        return next((name for name, qos in self.qos.items() if account in qos.default_for), None)

    @cached_property
    def gpu_types(self) -> Mapping[str, GpuType]:
        """The GPU types that compute nodes have; an inventory may name more."""
        have = {gpu for node in self.having("compute") for gpu in node.gpus}
        return {name: gpu for name, gpu in self._gpu_types.items() if name in have}

    def owned_gpus(self, account: Account) -> int | None:
        """GPUs that an account has a cap of, or on nodes of its own; None where it has neither."""
        if account.limits.group.gpu is None and account.nodes:
            return sum(self.nodes[name].gpu_count for name in account.nodes if name in self.nodes)
        return account.limits.group.gpu

    @cached_property
    def total_gpus(self) -> int:
        """GPUs of all compute nodes."""
        return sum(node.gpu_count for node in self.having("compute"))
