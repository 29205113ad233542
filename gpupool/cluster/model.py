"""The Cluster: a checked and resolved inventory. It is frozen and always valid."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from gpupool.cluster.accounts import Account, User
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.cluster.partition import Partition
from gpupool.cluster.schema.access import Access
from gpupool.cluster.schema.directory import Directory
from gpupool.cluster.schema.environment import Environment
from gpupool.cluster.schema.labs import Qos
from gpupool.cluster.schema.machines import Cloud, ClusterEntry, Gpu, GpuType
from gpupool.cluster.schema.policies import Policies
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.schema.scheduling import Preemption, Scheduler, Slurm
from gpupool.cluster.schema.site_files import SiteFile
from gpupool.cluster.schema.software import Software
from gpupool.cluster.schema.storage import Storage
from gpupool.cluster.schema.testbed import Testbed
from gpupool.cluster.schema.tools import Timer, Tool
from gpupool.slurm.partitions import admits
from gpupool.slurm.releases import has


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
