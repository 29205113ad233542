"""Accounts, users, QoS and partitions, and the limits on each."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import (
    AbsolutePath,
    Count,
    Entry,
    Flag,
    Name,
    NameOfEach,
    Nodes,
    NumberByType,
    Several,
    SourcedEntry,
    Word,
    one_line,
)
from gpupool.cluster.schema.directory import IdRange
from gpupool.cluster.schema.parameters import Parameters
from gpupool.cluster.units import Day, Duration, Maximum, Size, Span
from gpupool.unix import LARGEST_ID, RESERVED_IDS, SYSTEMD_UIDS


def _not_reserved(number: int) -> int:
    if taken := next(((ids, whose) for ids, whose in RESERVED_IDS if number in ids), None):
        ids, whose = taken
        free = f"1000-60000 or {SYSTEMD_UIDS.stop}-{RESERVED_IDS[-1][0].start - 1}"
        raise ValueError(f"{number} is within {ids.start}-{ids[-1]}, which is used {whose}; choose a number of {free}")
    return number


UnixId = Annotated[int, Field(strict=True, ge=1000, le=LARGEST_ID), AfterValidator(_not_reserved)]
Weight = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
OverLimit = Literal["refuse", "wait"]
PreemptAction = Literal["requeue", "cancel"]


def _not_suspend(action: Any) -> Any:
    # slurm.conf(5), PreemptMode=SUSPEND with preempt/qos
    if action == "suspend":
        raise ValueError("only partitions can suspend: jobs of two QoS in one partition would share CPUs by turns")
    return action


QosPreemptAction = Annotated[PreemptAction, BeforeValidator(_not_suspend)]
AccountKind = Literal["lab", "shared", "department", "group", "project"]
_KEY = re.compile(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
    r" AAAA[A-Za-z0-9+/]*={0,3}( .*)?"
)


def _public_key(key: str) -> str:
    if "PRIVATE KEY" in key:
        raise ValueError(
            "this is a private key: anyone who reads it can log in as its owner (write the line of its .pub file)"
        )
    if not _KEY.fullmatch(key):
        raise ValueError(f"{quoted(key)} is not a public key; write the one line of its .pub file: ssh-ed25519 AAAA…")
    return one_line(key)


PublicKey = Annotated[str, Field(strict=True), AfterValidator(_public_key)]


class Amounts(Entry):
    """An amount of each resource."""

    gpu: Count | None = Field(None, description="GPUs of any type.")
    gpus: dict[Name, Count] = Field(default_factory=dict, description="GPUs by type.")
    cpu: Count | None = Field(None, description="Logical CPUs, as Slurm counts them.")
    mem: Size | None = Field(None, description="Memory, with its unit: 256G.")
    nodes: Count | None = Field(None, description="Nodes.")
    billing: Count | None = Field(None, description="Billing units, priced by `billing` of partitions.")
    jobs: Count | None = Field(None, description="Running jobs.")
    submitted: Count | None = Field(None, description="Pending and running jobs; every array task counts.")
    wall: Duration | None = Field(None, description="Run time: of each job (per_job), or of all jobs together (group).")


class Prices(Entry):
    """The price of an hour of each resource."""

    cpu: Weight | None = Field(None, description="A logical CPU.")
    gpu: Weight | None = Field(None, description="A GPU of any type.")
    mem: Weight | None = Field(None, description="A gigabyte of memory.")
    gpus: dict[Name, Weight] = Field(default_factory=dict, description="A GPU by its type, instead of `gpu`.")

    @property
    def plain(self) -> dict[str, float]:
        """The prices that are set, except prices by GPU type."""
        named = {"cpu": self.cpu, "gpu": self.gpu, "mem": self.mem}
        return {key: price for key, price in named.items() if price is not None}

    @property
    def has_prices(self) -> bool:
        """Whether anything has a price."""
        return bool(self.plain or self.gpus)


class Limits(Entry):
    """Limits; accounts, QoS and partitions have the same block."""

    group: Amounts = Field(default_factory=Amounts, description="All jobs together.")
    group_minutes: Amounts = Field(default_factory=Amounts, description="All jobs together, in resource minutes.")
    per_user: Amounts = Field(default_factory=Amounts, description="All jobs of one user together.")
    per_user_minutes: Amounts = Field(
        default_factory=Amounts, description="All jobs of one user together, in resource minutes; on accounts."
    )
    per_account: Amounts = Field(
        default_factory=Amounts, description="All jobs of one account together; on QoS and partitions."
    )
    per_job: Amounts = Field(default_factory=Amounts, description="Each job.")
    per_job_least: Amounts = Field(
        default_factory=Amounts, description="What each job must request at least; on QoS and partitions."
    )


class Account(SourcedEntry):
    """A Slurm account. If its kind is lab, its cap is what it owns: `contributed_gpus`, or `owns`."""

    name: Name = Field(description="Slurm's name of the account, and of its Unix group.")
    kind: AccountKind = Field(description="A lab owns GPUs; `shared` is for all users; the others group users.")
    gid: UnixId | None = Field(None, description="Gid of the account's Unix group, which every node gets.")
    uids: IdRange | None = Field(
        None,
        description="Uids that the file `labs/ACCOUNT.yml` may give to users; without it, there can be no such file.",
    )
    parent: Name | None = Field(None, description="The account above it in Slurm's tree; default: root.")
    contributed_gpus: Count | None = Field(None, description="Number of GPUs of any type that a lab owns: its cap.")
    owns: Nodes | Annotated[dict[Name, Count], Field(min_length=1)] | None = Field(
        None,
        description=(
            "Property of a lab, in place of a number of GPUs of any type: nodes (`dm[01-02]`), or GPUs by type and "
            "CPUs (`{a100: 8, cpu: 128}`)."
        ),
    )
    members: Literal["own", "all"] = Field("own", description="all: every user of the cluster is a member.")
    members_from: Name | None = Field(
        None, description="Group of the `directory` whose members are users of this account, too."
    )
    most_members: Count | None = Field(None, description="Maximum number of members; more are an error.")
    qos: tuple[Name, ...] = Field((), description="QoS of all its users, for their jobs in this account.")
    limits: Limits = Field(default_factory=Limits, description="Limits of its jobs; a lab's cap is added to them.")
    budget: Count | None = Field(
        None, description="Hours of billing (partitions.billing) that it may ever use, with the accounts below it."
    )
    fairshare: Count | None = Field(
        None, description="Slurm's shares of the account, with scheduler.fairshare: accounts; Slurm's default: 1."
    )
    exact: Flag = Field(
        True,
        description="False: another system writes this account to slurmdbd, too. gpupool does not change members, "
        "limits and accounts below it that the inventory does not name.",
    )
    listed: Flag = Field(True, description="False: not in the table of accounts of the user guide.")
    tier: Literal["standard", "premium"] | None = Field(
        None, description="Determines the account's quotas in storage.user_spaces."
    )
    parameters: Parameters = Field(
        default_factory=dict,
        description="Further limits of the account by sacctmgr's names, such as MaxJobs.",
    )

    @property
    def is_everybodys(self) -> bool:
        """Whether every user of the cluster is a member."""
        return self.members == "all"


class Grant(SourcedEntry):
    """A QoS granted until a date."""

    qos: Name = Field(description="The QoS that is granted.")
    until: Day = Field(description="Last day of the grant: 2030-01-31.")


class User(SourcedEntry):
    """A user. The uid is part of the inventory, so it is the same on every node and never changes."""

    name: Name = Field(description="Login name, also in Slurm.")
    uid: UnixId | None = Field(
        None,
        description="Unix id, the same on every node; it never changes. Needed where gpupool manages people or files.",
    )
    account: Name = Field(description="Default account, for jobs without --account; its group is the primary group.")
    accounts: tuple[Name, ...] = Field((), description="Further accounts of the user, for jobs with --account.")
    full_name: Word | None = Field(None, description="Full name, for people.")
    coordinator: Flag = Field(False, description="Slurm coordinator of the account: may manage its members.")
    keys: tuple[PublicKey, ...] = Field((), description="Public SSH keys, one line each.")
    shell: AbsolutePath = Field("/bin/bash", description="Login shell.")
    qos: tuple[Name, ...] = Field((), description="QoS in addition to the QoS of all users.")
    grants: tuple[Grant, ...] = Field((), description="QoS until a day, including that day.")
    until: Day | None = Field(
        None, description="Last day of access; after it the user cannot submit jobs or log in. Files stay."
    )
    partitions: tuple[Name, ...] = Field((), description="Partitions with `users: assigned` that the user may use.")
    default_partition: Name | None = Field(
        None, description="Partition of jobs without --partition, if scheduler.default_partition is per_user."
    )
    first_password: Literal["must_change"] | None = Field(
        None, description="`gpupool password` creates a password, which the user changes at the first login."
    )


class Qos(SourcedEntry):
    """A quality of service, or with `for_each` one per account of that kind, for the users of this account.

    `{account}` is replaced by the account's name in the QoS's name, `default_for`, `preempts` and `replaces`.
    """

    for_each: AccountKind | None = Field(
        None,
        description="Create one QoS for each account of this kind, for its users alone; {account} is its name.",
    )
    default: Flag = Field(False, description="The QoS of jobs without --qos.")
    default_for: tuple[NameOfEach, ...] = Field(
        (), description="Accounts whose users have this QoS as their default instead."
    )
    replaces: tuple[NameOfEach, ...] = Field(
        (), description="Other QoS; if these users' jobs request one of them, they get this QoS instead."
    )
    everybody: Flag = Field(True, description="False: only users whose entry lists it may use it.")
    max_wall: Maximum = Field(None, description="Maximum run time of a job; infinite, the default: no limit.")
    over_limit: OverLimit | None = Field(
        None, description="Jobs with this QoS that could never start; default: scheduler.over_limit."
    )
    priority: Count = Field(0, description="Slurm's priority of the QoS, relative to the highest of all QoS.")
    preemptable: Flag = Field(False, description="Jobs of QoS that name it in `preempts` may preempt its jobs.")
    preempts: tuple[NameOfEach, ...] = Field((), description="Preemptable QoS whose jobs this QoS's jobs preempt.")
    preempt_action: QosPreemptAction | None = Field(
        None, description="What happens to its preempted jobs; default: preemption.action."
    )
    grace: Duration | None = Field(None, description="Time between the signal and the end of a preempted job.")
    limits: Limits = Field(default_factory=Limits, description="Limits of jobs with this QoS.")
    parameters: Parameters = Field(
        default_factory=dict, description="Further settings of the QoS by sacctmgr's names, such as UsageFactor, Flags."
    )

    @property
    def wall(self) -> int | None:
        """The maximum run time of a job, in seconds: `max_wall`, else `limits.per_job.wall`."""
        return self.limits.per_job.wall if self.max_wall is None else self.max_wall


class Partition(SourcedEntry):
    """A partition, or with `for_each` one per account of that kind.

    `{account}` is replaced by the account's name in `name`, `nodes`, `qos`, `default_qos`, `allow_accounts`,
    `deny_accounts` and `without_gpu`.
    """

    name: Word = Field(description="Name of the partition; {account} is replaced with for_each.")
    for_each: AccountKind | None = Field(
        None,
        description="Create one partition for each account of this kind; {account} is its name. With the nodes "
        "`@owner:{account}`, for each that owns nodes.",
    )
    nodes: Nodes
    max_time: Maximum = Field(None, description="Maximum run time of a job; infinite, the default: no limit.")
    default_time: Span | None = Field(
        None, description="Time limit of jobs without --time; default: scheduler.default_time, else max_time."
    )
    max_nodes: Several | None = Field(None, description="Maximum nodes of a job; default: no limit.")
    tier: Count = Field(
        1, description="Slurm's PriorityTier: jobs of a higher tier start first, and may preempt jobs of a lower tier."
    )
    priority: Annotated[int, Field(strict=True, ge=0, le=65535)] = Field(
        0, description="Among partitions of one tier, jobs of the partition with the higher priority start first."
    )
    preemptable: Flag = Field(False, description="Jobs of partitions with a higher tier may preempt its jobs.")
    preempt_action: PreemptAction | Literal["suspend"] | None = Field(
        None,
        description="What happens to its preempted jobs; default: preemption.action. suspend: on nodes without GPUs.",
    )
    grace: Duration | None = Field(None, description="Time between the signal and the end of a preempted job.")
    allow_accounts: tuple[Word, ...] = Field((), description="Accounts that may submit; empty: all.")
    deny_accounts: tuple[Word, ...] = Field((), description="Accounts that may not submit, if allow_accounts is empty.")
    allow_groups: tuple[Name, ...] = Field((), description="Unix groups whose members may submit; empty: all.")
    allow_lab_accounts: Flag = Field(False, description="Every lab's account, in addition to allow_accounts.")
    qos: tuple[NameOfEach, ...] = Field((), description="QoS that may be used; empty: all.")
    default_qos: NameOfEach | None = Field(
        None,
        description="QoS of jobs without --qos, unless a QoS is the default of their account; default: the cluster's.",
    )
    limits: Limits = Field(default_factory=Limits, description="Limits of its jobs.")
    default_cpus_per_gpu: NumberByType | None = Field(
        None,
        description="CPUs per GPU of jobs without a CPU request: a number, or numbers by GPU type, with `default` for "
        "all others; default: scheduler.default_cpus_per_gpu.",
    )
    exclusive: Literal["job", "user"] | None = Field(
        None, description="A node runs one job at a time, which gets all CPUs, GPUs and memory; or one user's jobs."
    )
    without_gpu: Word | None = Field(
        None, description="For jobs without a GPU request: `refuse`, or the partition that they are moved to."
    )
    lift: tuple[Literal["per_user"], ...] = Field((), description="Limits of the job's QoS that do not apply here.")
    billing: Prices = Field(default_factory=Prices, description="Price of an hour (TRESBillingWeights).")
    users: Literal["all", "assigned"] = Field(
        "all", description="assigned: only users whose entry lists the partition may submit to it."
    )
    parameters: Parameters = Field(
        default_factory=dict, description="Further keys of the partition's line in slurm.conf, such as OverSubscribe."
    )

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_.@-]+", name.replace("{account}", "x")):
            raise ValueError(f"{quoted(name)} is not a valid partition name: use letters, digits, _, ., @ and -")
        return name

    def allows_qos(self, name: str) -> bool:
        """Return whether jobs of this partition may have a QoS."""
        return not self.qos or name in self.qos

    @property
    def lifts_per_user(self) -> bool:
        """Whether this partition lifts the limits per user of a job's QoS."""
        return "per_user" in self.lift

    @property
    def is_assigned(self) -> bool:
        """Whether only users whose entry lists the partition may submit."""
        return self.users == "assigned"
