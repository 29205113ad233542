"""The inventory language as typed models. `gpupool schema` prints it for editors."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.accepted import AcceptedWarning
from gpupool.cluster.schema.base import Entry, Name, Nodes, Word
from gpupool.cluster.schema.directory import Directory
from gpupool.cluster.schema.labs import Account, Partition, Qos, User
from gpupool.cluster.schema.machines import Cloud, ClusterEntry, Gpu, GpuType, Hardware, NodeEntry
from gpupool.cluster.schema.outages import Outage
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.schema.scheduling import Preemption, Scheduler, Slurm
from gpupool.cluster.schema.software import Access, Environment, Policies, Software, Timer, Tool
from gpupool.cluster.schema.storage import Storage
from gpupool.cluster.schema.testbed import Testbed


class Inventory(Entry):
    """One cluster, as the inventory defines it."""

    schema_: Literal[1] = Field(alias="schema", description="Version of the inventory language.")
    cluster: ClusterEntry
    gpu_types: dict[Name, GpuType] = Field(default_factory=dict)
    hardware: dict[Name, Hardware] = Field(default_factory=dict)
    nodes: tuple[NodeEntry, ...] = Field(min_length=1)
    groups: dict[Name, Nodes] = Field(
        default_factory=dict, description="Named groups of nodes, each a selector; use them as `@group:NAME`."
    )
    out_of_service: tuple[Outage, ...] = Field((), description="Nodes and GPUs that are broken for a while.")
    gpu: Gpu = Field(default_factory=Gpu)
    cloud: Cloud | None = None
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    directory: Directory | None = None
    qos: dict[Name, Qos] = Field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    slurm: Slurm = Field(default_factory=Slurm)
    scheduler: Scheduler = Field(default_factory=Scheduler)
    preemption: Preemption = Field(default_factory=Preemption)
    storage: Storage = Field(default_factory=Storage)
    software: Software = Field(default_factory=Software)
    environment: Environment = Field(default_factory=Environment)
    tools: tuple[Tool, ...] = ()
    timers: tuple[Timer, ...] = ()
    access: Access = Field(default_factory=Access)
    policies: Policies = Field(default_factory=Policies)
    testbed: Testbed | None = None
    accepted_warnings: tuple[AcceptedWarning, ...] = ()
    examples: tuple[Word, ...] = Field((), description="Example job scripts for users.")
