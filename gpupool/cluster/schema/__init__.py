"""The inventory language as typed models. `gpupool schema` prints it for editors."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.accepted import AcceptedWarning
from gpupool.cluster.schema.access import Access
from gpupool.cluster.schema.base import Entry, Name, NameOfEach, Nodes, Word
from gpupool.cluster.schema.directory import Directory
from gpupool.cluster.schema.environment import Environment
from gpupool.cluster.schema.labs import Account, Partition, Qos, User
from gpupool.cluster.schema.machines import Cloud, ClusterEntry, Gpu, GpuType, Hardware, NodeEntry
from gpupool.cluster.schema.outages import Outage
from gpupool.cluster.schema.policies import Policies
from gpupool.cluster.schema.reservations import Reservation
from gpupool.cluster.schema.scheduling import Preemption, Scheduler, Slurm
from gpupool.cluster.schema.site_files import SiteFile
from gpupool.cluster.schema.software import Software
from gpupool.cluster.schema.storage import Storage
from gpupool.cluster.schema.testbed import Testbed
from gpupool.cluster.schema.tools import Timer, Tool


class Inventory(Entry):
    """One cluster, as the inventory defines it."""

    schema_: Literal[1] = Field(alias="schema", description="Version of the inventory language.")
    cluster: ClusterEntry = Field(description="The cluster as a whole: name, network, time zone.")
    gpu_types: dict[Name, GpuType] = Field(
        default_factory=dict, description="GPU types: Slurm's gres type, and what it is."
    )
    hardware: dict[Name, Hardware] = Field(
        default_factory=dict, description="Hardware models of nodes: CPUs, memory, local disk."
    )
    nodes: tuple[NodeEntry, ...] = Field(min_length=1, description="All machines, with their addresses and roles.")
    groups: dict[Name, Nodes] = Field(
        default_factory=dict, description="Named groups of nodes, each a selector; use them as `@group:NAME`."
    )
    out_of_service: tuple[Outage, ...] = Field((), description="Nodes and GPUs that are broken for a while.")
    gpu: Gpu = Field(default_factory=Gpu, description="How GPUs are assigned to jobs.")
    cloud: Cloud | None = Field(None, description="The cloud of elastic nodes; default: none.")
    accounts: tuple[Account, ...] = Field((), description="Slurm accounts: labs with the GPUs they own, and others.")
    users: tuple[User, ...] = Field((), description="Users, each with the same uid on every node.")
    directory: Directory | None = Field(None, description="A directory service with further users; default: none.")
    qos: dict[NameOfEach, Qos] = Field(
        default_factory=dict, description="Slurm's QoS by name; {account} in a name is replaced with for_each."
    )
    partitions: tuple[Partition, ...] = Field((), description="Partitions, in the order of slurm.conf.")
    reservations: tuple[Reservation, ...] = Field(
        (), description="Reservations of nodes or GPUs, and planned maintenance."
    )
    slurm: Slurm = Field(
        default_factory=Slurm, description="Slurm's daemons: version, state, backup, further settings."
    )
    scheduler: Scheduler = Field(
        default_factory=Scheduler, description="Rules for all jobs: defaults, limits, priorities."
    )
    preemption: Preemption = Field(default_factory=Preemption, description="The effect of preemption on jobs.")
    storage: Storage = Field(default_factory=Storage, description="Exports, mounts, links, labs' spaces, homes.")
    software: Software = Field(
        default_factory=Software, description="Installed software: packages, GPU driver, containers, conda, modules."
    )
    environment: Environment = Field(
        default_factory=Environment, description="Environment variables and private directories of jobs."
    )
    tools: tuple[Tool, ...] = Field((), description="Programs for users that come with gpupool.")
    files: tuple[SiteFile, ...] = Field((), description="The site's own files on nodes.")
    timers: tuple[Timer, ...] = Field((), description="Periodic tasks on nodes.")
    access: Access = Field(default_factory=Access, description="The logins that each kind of node accepts.")
    policies: Policies = Field(
        default_factory=Policies, description="Site policies: limits on heads, processes outside of jobs, ports."
    )
    testbed: Testbed | None = Field(None, description="The nodes that a testbed starts; without it, no testbed.")
    accepted_warnings: tuple[AcceptedWarning, ...] = Field(
        (), description="Warnings of `gpupool check` that are only counted, each with a reason."
    )
    examples: tuple[Word, ...] = Field((), description="Example job scripts for users.")
