"""The promises of an inventory, computed from the Cluster alone, never from compiled files."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from gpupool.cluster.accounts import Account, User
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.partition import Partition
from gpupool.cluster.schema.labs import Amounts


@dataclass(frozen=True)
class Lab:
    """An account with a GPU cap and users; its jobs in `partition` are not preemptable."""

    name: str
    cap: int
    members: tuple[User, ...]
    group: Amounts
    partition: str


@dataclass(frozen=True)
class OwnedHardware:
    """Hardware that a lab with users owns: `nodes`, GPUs by type (`types`), and logical CPUs (`cpus`).

    The lab claims a node in the partition that `partitions` has for it, GPUs of a type in that of `places`, and CPUs in
    `partition`.
    """

    name: str
    members: tuple[User, ...]
    group: Amounts
    nodes: tuple[str, ...]
    partitions: Mapping[str, str]
    types: Mapping[str, int]
    places: Mapping[str, str]
    cpus: int | None
    partition: str


@dataclass(frozen=True)
class Loan:
    """A preemptable partition, and the account without a cap that all users have for its idle GPUs."""

    partition: Partition
    account: str


@dataclass(frozen=True)
class Allowance:
    """The limits of one user in a partition; None if there is none. `mem` in MiB."""

    gpu: int | None = None
    cpu: int | None = None
    mem: int | None = None
    jobs: int | None = None


@dataclass(frozen=True, eq=False)
class Expected:
    """The promises of one inventory."""

    cluster: Cluster

    @cached_property
    def compute(self) -> tuple[Node, ...]:
        """Return the compute nodes."""
        return self.cluster.having("compute")

    @property
    def pool(self) -> int:
        """Return the number of the cluster's GPUs."""
        return self.cluster.total_gpus

    @cached_property
    def owner_partitions(self) -> tuple[Partition, ...]:
        """Return the partitions whose jobs are not preemptable, highest tier first."""
        return tuple(
            sorted(
                (partition for partition in self._partitions if not partition.preemptable),
                key=lambda partition: -partition.entry.tier,
            )
        )

    @cached_property
    def preemptable(self) -> tuple[Partition, ...]:
        """Return the preemptable partitions, lowest tier first."""
        return tuple(
            sorted(
                (partition for partition in self._partitions if partition.preemptable),
                key=lambda partition: partition.entry.tier,
            )
        )

    @property
    def _partitions(self) -> tuple[Partition, ...]:
        return tuple(self.cluster.partitions.values())

    @cached_property
    def labs(self) -> tuple[Lab, ...]:
        """Return the accounts with a cap, users, and a partition where their jobs are not preemptable."""
        return tuple(self._labs())

    def _labs(self) -> Iterator[Lab]:
        turn = 0
        for account in self.cluster.accounts.values():
            cap = account.limits.group.gpu
            # an account that owns hardware is in `owned_hardware`
            if account.owns or not cap:
                continue
            home = self._claims_in(account, turn)
            if home and (members := self._members(account.name, home)):
                yield Lab(account.name, cap, members, account.limits.group, home.name)
                turn += 1

    def _claims_in(self, account: Account, turn: int) -> Partition | None:
        """Return the partition where an account's users claim its share; None if there is none."""
        open_to = [
            partition
            for partition in self.owner_partitions
            if any(self.may(user, partition, account.name) for user in self._own(account.name))
        ]
        if not account.nodes:
            open_to = [partition for partition in open_to if self._takes_single_gpus(partition)]
        return self.cluster.partitions[self._home(account, open_to, turn)] if open_to else None

    def _takes_single_gpus(self, partition: Partition) -> bool:
        return not partition.entry.exclusive and self.least_gpus(partition) <= 1

    def _own(self, account: str) -> list[User]:
        return [user for user in self.cluster.users.values() if account in user.own_accounts]

    def _members(self, account: str, home: Partition) -> tuple[User, ...]:
        """Return the users who claim for a lab: users with it as default account, or else users without limits.

        A limit of a user counts in all accounts together, so a user cannot reach it for two labs at once.
        """
        here = [user for user in self._own(account) if self.may(user, home, account)]
        own = tuple(user for user in here if user.account == account)
        return own or tuple(user for user in here if self.allowance(user, home, account) == Allowance())

    @cached_property
    def owned_hardware(self) -> tuple[OwnedHardware, ...]:
        """Return the hardware of labs that have users and own nodes, GPUs of a type or CPUs."""
        return tuple(self._owned_hardware())

    def _owned_hardware(self) -> Iterator[OwnedHardware]:
        for account in self.cluster.accounts.values():
            nodes = tuple(name for name in account.nodes if name in self.cluster.nodes)
            home = self._claims_in(account, 0) if nodes or any(account.owns.values()) else None
            members = self._members(account.name, home) if home else ()
            if home is None or not members:
                continue
            types = {gpu: number for gpu, number in account.owns.items() if gpu in self.cluster.gpu_types and number}
            open_to = [partition for partition in self.owner_partitions if self.admits(partition, account.name)]
            partitions = {
                name: partition.name for partition in reversed(open_to) for name in nodes if name in partition.nodes
            }
            parted = [home, *(partition for partition in open_to if self._takes_single_gpus(partition))]
            places = {
                gpu: next((partition.name for partition in parted if gpu in self.types_in(partition.name)), home.name)
                for gpu in types
            }
            yield OwnedHardware(account.name, members, account.limits.group, nodes, partitions, types, places,
                         account.owns.get("cpu"), home.name)  # fmt: skip

    @cached_property
    def shared(self) -> tuple[Node, ...]:
        """Return the compute nodes that no lab owns."""
        owned = {name for account in self.cluster.accounts.values() for name in account.nodes}
        return tuple(node for node in self.compute if node.name not in owned)

    def _home(self, account: Account, open_to: list[Partition], turn: int) -> str:
        # a largest partition, if possible without limits per user or account; every second lab gets the default one
        most = max(self.gpus_of(partition) for partition in open_to)
        large = [partition for partition in open_to if self.gpus_of(partition) == most]
        free = [
            partition
            for partition in large
            if partition.limits.per_user.gpu is None and partition.limits.per_account.gpu is None
        ] or large
        own = [partition for partition in free if partition.allow_accounts == (account.name,)]
        default = [partition for partition in free if partition.default]
        return [*(default if turn % 2 else []), *own, *default, *free][0].name

    @cached_property
    def loans(self) -> tuple[Loan, ...]:
        """Return the partitions and accounts where all users may use single idle GPUs, lowest tier first."""
        spare = [
            account
            for account in self.cluster.accounts.values()
            if account.entry.is_everybodys and account.limits.group.gpu is None
        ]
        return tuple(
            Loan(partition, account.name)
            for partition in self.preemptable
            for account in spare
            # a suspended job keeps its GPUs and memory
            if partition.action != "suspend" and self.admits(partition, account.name) and not partition.entry.exclusive
        )

    def lab_loans(self, account: str) -> tuple[Partition, ...]:
        """Return the preemptable partitions where a lab's own account may use single GPUs."""
        return tuple(
            partition
            for partition in self.preemptable
            if self.admits(partition, account) and not partition.entry.exclusive
        )

    def admits(self, partition: Partition, account: str) -> bool:
        """Return whether jobs of the account may run in the partition."""
        above = self.cluster.matching_accounts(account)
        if partition.allow_accounts:
            return not above.isdisjoint(partition.allow_accounts)
        return above.isdisjoint(partition.deny_accounts)

    def may(self, user: User, partition: Partition, account: str) -> bool:
        """Return whether this user may submit to the partition with this account."""
        if user.ended_on(date.today()) or account not in user.accounts:
            return False
        return self.cluster.admits_user(partition, user) and self.admits(partition, account)

    def people(self, partition: Partition) -> Iterator[tuple[User, str]]:
        """Yield the users who may submit to the partition, each with an account."""
        for user in self.cluster.users.values():
            account = next((name for name in user.accounts if self.may(user, partition, name)), None)
            if account:
                yield user, account

    def gpus_of(self, partition: Partition) -> int:
        """Return the number of GPUs of a partition's nodes."""
        return sum(self.cluster.nodes[name].gpu_count for name in partition.nodes)

    def default_qos(self, partition: Partition, account: str) -> str | None:
        """Return the QoS of a job without --qos; None if the inventory has no QoS."""
        return self.cluster.qos_of(account) or partition.entry.default_qos or self.cluster.default_qos

    def priority(self, partition: Partition, qos: str | None) -> float:
        """Return the priority that partition and QoS give a job within its tier."""
        weights, of_qos = self.cluster.scheduler.priority_weights, self.cluster.qos
        mine = of_qos[qos].priority if qos and qos in of_qos else 0
        kinds = (
            (weights.qos, mine, max((qos.priority for qos in of_qos.values()), default=0)),
            (weights.partition, partition.entry.priority, max(other.entry.priority for other in self._partitions)),
        )
        return sum(weight * own / most for weight, own, most in kinds if most)

    def allowance(self, user: User, partition: Partition, account: str, qos: str | None = None) -> Allowance:
        """Return a user's limits in a partition: per resource, the smallest of partition (or else QoS) and account."""
        name = qos or self.default_qos(partition, account)
        entry = self.cluster.qos.get(name) if name and not partition.entry.lifts_per_user else None
        of_qos = entry.limits.per_user if entry else Amounts()
        of_account = self.cluster.accounts[account].limits.per_user

        def least(key: str) -> int | None:
            own = getattr(partition.limits.per_user, key)
            limits = [own if own is not None else getattr(of_qos, key), getattr(of_account, key)]
            limits += [
                getattr(holder.limits.per_account, key)
                for holder in (partition, self.cluster.qos.get(name or ""))
                if holder
            ]
            return min((limit for limit in limits if limit is not None), default=None)

        return Allowance(least("gpu"), least("cpu"), least("mem"), least("jobs"))

    def wall(self, partition: Partition, qos: str | None, account: str) -> int | None:
        """Return the maximum time limit of a job in a partition, in seconds; None if unlimited."""
        of_qos = self.cluster.qos.get(qos) if qos else None
        asked = [
            partition.limits.per_job.wall,
            of_qos.max_wall if of_qos else None,
            of_qos.limits.per_job.wall if of_qos else None,
            self.cluster.accounts[account].limits.per_job.wall,
        ]
        first = next((limit for limit in asked if limit is not None), None)  # Slurm uses the limit nearest to the job
        return min((limit for limit in (partition.entry.max_time, first) if limit is not None), default=None)

    def unasked(self, partition: Partition, qos: str | None, account: str) -> int | None:
        """Return the time limit of a job without --time in a partition, in seconds; None if unlimited."""
        both = (partition.default_time, self.wall(partition, qos, account))
        return min((limit for limit in both if limit is not None), default=None)

    def least_gpus(self, partition: Partition, qos: str | None = None) -> int:
        """Return the minimum number of GPUs of a job in a partition, with a QoS."""
        of_qos = self.cluster.qos.get(qos or "")
        return partition.limits.per_job_least.gpu or (of_qos and of_qos.limits.per_job_least.gpu) or 0

    def may_hold(self, account: str, gpu: str | None, number: int) -> bool:
        """Return whether the limits of an account and of those above it allow GPUs of a type, or of any for None."""
        limits = [self.cluster.accounts[name].limits.group for name in self.cluster.with_parents(account)]
        given = [limit for group in limits for limit in (group.gpu, group.gpus.get(gpu or "")) if limit is not None]
        return number <= min(given, default=number)

    def qos_for(self, user: User, partition: Partition, account: str) -> tuple[str, ...]:
        """Return the QoS that the user may request in the partition for a job of the account."""
        today = date.today()
        return tuple(
            name for name in user.qos_on(today, account) if not partition.entry.qos or name in partition.entry.qos
        )

    @cached_property
    def cpus_per_gpu(self) -> Mapping[str, int]:
        """Return the CPUs for each GPU by type: the recommended number, at most an equal part of each node's CPUs."""
        scheduler = self.cluster.scheduler
        warned = scheduler.warn_cpus_per_gpu
        return {
            gpu: min(warned.get(gpu, warned.get("default", share)), share, scheduler.most_cpus(gpu) or share)
            for gpu in self.cluster.gpu_types
            if (share := min(node.job_cpus // node.gpu_count for node in self.compute if gpu in node.gpus))
        }

    def unasked_cpus(self, partition: str, gpus: int, gpu: str | None = None) -> int:
        """Return the CPUs of a job of one task that does not request CPUs; without a type the lowest number counts."""
        own = self.cluster.partitions[partition].entry.default_cpus_per_gpu
        given = own or self.cluster.scheduler.default_cpus_per_gpu or {"default": 1}
        each = [given.get(kind, given.get("default", 1)) for kind in ([gpu] if gpu else self.types_in(partition))]
        return max(1, gpus * min(each, default=1))

    @property
    def typed(self) -> bool:
        """Return whether a job must request a type of GPU."""
        return self.cluster.scheduler.untyped_gpus == "refuse"

    def type_in(self, partition: str) -> str | None:
        """Return the type that a job for any GPU requests in a partition; None if it need not request a type."""
        return next(iter(self.types_in(partition)), None) if self.typed else None

    def types_in(self, partition: str) -> Counter[str]:
        """Return the number of GPUs of a partition's nodes by type."""
        counts: Counter[str] = Counter()
        for name in self.cluster.partitions[partition].nodes:
            counts.update(dict(self.cluster.nodes[name].gpus))
        return counts

    @property
    def cancels(self) -> bool:
        """Return whether preempted jobs on borrowed GPUs are cancelled instead of requeued."""
        return bool(self.loans) and self.loans[0].partition.action == "cancel"

    @property
    def arbitrated(self) -> tuple[str, ...]:
        """Return the partitions where the arbiter preempts jobs for a labmate's pending job."""
        arbiter = self.cluster.preemption.arbiter
        return arbiter.partitions if arbiter and arbiter.enabled else ()
