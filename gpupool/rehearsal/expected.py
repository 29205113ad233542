"""What an inventory promises, worked out from the Cluster alone: the rehearsal never asks what was compiled from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from gpupool.cluster.model import Account, Cluster, Node, Partition, User
from gpupool.cluster.schema.labs import Amounts


@dataclass(frozen=True)
class Lab:
    """An account with a GPU cap and people. `partition` is where its jobs go that nobody can evict."""

    name: str
    cap: int
    members: tuple[User, ...]
    group: Amounts
    partition: str


@dataclass(frozen=True)
class Loan:
    """A preemptable partition and an account without a cap that everybody has: what is idle can be used there."""

    partition: Partition
    account: str


@dataclass(frozen=True)
class Room:
    """What one user may hold at once in a partition; None where nothing is said. `mem` in MiB."""

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
        """Nodes that run jobs."""
        return self.cluster.having("compute")

    @property
    def pool(self) -> int:
        """GPUs of the cluster."""
        return self.cluster.total_gpus

    @cached_property
    def owners(self) -> tuple[Partition, ...]:
        """Partitions whose jobs nobody can evict, the highest tier first."""
        return tuple(sorted((it for it in self._partitions if not it.preemptable), key=lambda it: -it.tier))

    @cached_property
    def givers(self) -> tuple[Partition, ...]:
        """Preemptable partitions, lowest tier first."""
        return tuple(sorted((it for it in self._partitions if it.preemptable), key=lambda it: it.tier))

    @property
    def _partitions(self) -> tuple[Partition, ...]:
        return tuple(self.cluster.partitions.values())

    @cached_property
    def labs(self) -> tuple[Lab, ...]:
        """Accounts with a cap that can be claimed: they have people, and a partition where nobody can evict them."""
        return tuple(self._labs())

    def _labs(self) -> Iterator[Lab]:
        turn = 0
        for account in self.cluster.accounts.values():
            cap = account.limits.group.gpu
            members = tuple(user for user in self.cluster.users.values() if user.account == account.name)
            open_to = [it for it in self.owners if self.admits(it, account.name)]
            if cap and members and open_to:
                yield Lab(account.name, cap, members, account.limits.group, self._home(account, open_to, turn))
                turn += 1

    def _home(self, account: Account, open_to: list[Partition], turn: int) -> str:
        # of the largest, none with a limit for each user; every second lab has its own, the others the common one
        most = max(self.gpus_of(it) for it in open_to)
        large = [it for it in open_to if self.gpus_of(it) == most]
        free = [it for it in large if it.limits.per_user.gpu is None] or large
        own = [it for it in free if it.allow_accounts == (account.name,)]
        default = [it for it in free if it.default]
        return [*(default if turn % 2 else []), *own, *default, *free][0].name

    @cached_property
    def loans(self) -> tuple[Loan, ...]:
        """Partitions and accounts where all users may use idle GPUs, lowest tier first."""
        spare = [it for it in self.cluster.accounts.values() if it.everybody and it.limits.group.gpu is None]
        return tuple(
            Loan(partition, account.name)
            for partition in self.givers
            for account in spare
            if self.admits(partition, account.name)
        )

    def lab_loans(self, account: str) -> tuple[Partition, ...]:
        """Return the preemptable partitions that a lab's own account may use."""
        return tuple(it for it in self.givers if self.admits(it, account))

    def admits(self, partition: Partition, account: str) -> bool:
        """Return whether jobs of the account may run in the partition."""
        above = self.cluster.line_of(account)
        if partition.allow_accounts:
            return not above.isdisjoint(partition.allow_accounts)
        return above.isdisjoint(partition.deny_accounts)

    def may(self, user: User, partition: Partition, account: str) -> bool:
        """Return whether this user may submit there with this account."""
        mine = not partition.assigned or partition.name in user.partitions
        return mine and account in user.accounts and self.admits(partition, account)

    def people(self, partition: Partition) -> Iterator[tuple[User, str]]:
        """Return those who may submit to the partition, each with an account to do so."""
        for user in self.cluster.users.values():
            account = next((it for it in user.accounts if self.may(user, partition, it)), None)
            if account:
                yield user, account

    def gpus_of(self, partition: Partition) -> int:
        """GPUs of a partition's nodes."""
        return sum(self.cluster.nodes[name].gpu_count for name in partition.nodes)

    def default_qos(self, user: User, account: str) -> str | None:
        """Return the QoS of a job that names none; None where the inventory has no QoS."""
        default = next((name for name, qos in self.cluster.qos.items() if qos.default), None)
        return self.cluster.qos_of(account) or default

    def room(self, user: User, partition: Partition, account: str, qos: str | None = None) -> Room:
        """Return what the user may hold in the partition: its own limit, or else the QoS', and the account's."""
        name = qos or self.default_qos(user, account)
        entry = self.cluster.qos.get(name) if name and not partition.lift_per_user else None
        of_qos = entry.limits.per_user if entry else Amounts()
        of_account = self.cluster.accounts[account].limits.per_user

        def least(key: str) -> int | None:
            own = getattr(partition.limits.per_user, key)
            limits = [own if own is not None else getattr(of_qos, key), getattr(of_account, key)]
            return min((it for it in limits if it is not None), default=None)

        return Room(least("gpu"), least("cpu"), least("mem"), least("jobs"))

    def wall(self, partition: Partition, qos: str | None, account: str) -> int | None:
        """Return the longest that a job may run there, in seconds; None without an end."""
        of_qos = self.cluster.qos.get(qos) if qos else None
        asked = [
            partition.limits.per_job.wall,
            of_qos.max_wall if of_qos else None,
            of_qos.limits.per_job.wall if of_qos else None,
            self.cluster.accounts[account].limits.per_job.wall,
        ]
        first = next((it for it in asked if it is not None), None)  # Slurm takes the nearest to the job
        return min((it for it in (partition.max_time, first) if it is not None), default=None)

    def qos_for(self, user: User, partition: Partition) -> tuple[str, ...]:
        """Return the QoS that the user may ask for in the partition."""
        today = date.today()
        return tuple(it for it in user.qos_on(today) if not partition.allow_qos or it in partition.allow_qos)

    @cached_property
    def cpus_per_gpu(self) -> Mapping[str, int]:
        """CPUs for each GPU of a type: what people are told, or what every node of the type has for all its GPUs."""
        told = self.cluster.scheduler.warn_cpus_per_gpu
        return {
            gpu: min([told.get(gpu, told.get("default", share)), share])
            for gpu in self.cluster.gpu_types
            if (share := min(node.cpus // node.gpu_count for node in self.compute if gpu in node.gpus))
        }

    @property
    def typed(self) -> bool:
        """Whether a job must name the type of its GPUs."""
        return self.cluster.scheduler.untyped_gpus == "refuse"

    @property
    def gpu_type(self) -> str | None:
        """The type that a job for any GPU names; None where it need name none."""
        return next(iter(self.cluster.gpu_types), None) if self.typed else None

    @property
    def cancels(self) -> bool:
        """Whether evicted jobs are gone, not run again."""
        return self.cluster.preemption.action == "cancel"

    @property
    def arbitrated(self) -> tuple[str, ...]:
        """Partitions whose jobs give way to a labmate that waits for the lab's cap."""
        arbiter = self.cluster.preemption.arbiter
        return arbiter.partitions if arbiter and arbiter.enabled else ()
