"""A node of the cluster, and its outages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from gpupool.addresses import name_in
from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.schema.machines import Hardware
from gpupool.cluster.schema.managed import ROLES
from gpupool.distributions.tables import Distribution


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
