"""The specification of a testbed as plain data: containers, their network, and the volumes they share."""

import ipaddress
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpupool.errors import TestbedError

LABEL = "gpupool.testbed"
NODE_LABEL = "gpupool.testbed.node"
SHAPE_LABEL = "gpupool.testbed.shape"

ANCHOR = "volumes"  # name of the container that keeps volumes in memory mounted

LEAST_MEMORY = 512  # MiB
DISK_NAME = 20  # characters that virtio keeps of a disk's serial number

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class Volume:
    """Storage that containers share; `source` is df's source, `size` the size option of tmpfs (`50T`)."""

    key: str
    source: str | None = None
    size: str | None = None
    kind: Literal["tmpfs", "disk"] = "tmpfs"


@dataclass(frozen=True)
class Machine:
    """A virtual machine: logical CPUs (`threads` on each core), memory in MiB, additional disks in MiB each."""

    cpus: int = 2
    threads: int = 1
    memory: int = 1536
    disks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Container:
    """One node: its name in the inventory, its address, and its contents.

    `gpus` is the number of NVIDIA's device files, `devices` of others that stand in for GPUs. `packages` are names, or
    `NAME/SUITE` for another suite of Debian. `volumes` maps a volume's key to a path; `roles` are shown in the status.
    `disks` are paths outside the image's layers, for Docker inside the container; `nests` allows users' namespaces. A
    container that `switches` may switch all containers on and off. With a `machine`, the container runs QEMU, and the
    node is the virtual machine in it.
    """

    name: str
    address: str
    hostname: str
    packages: tuple[str, ...] = ()
    gpus: int = 0
    volumes: Mapping[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    machine: Machine | None = None
    disks: tuple[str, ...] = ()
    nests: bool = False
    switches: bool = False
    devices: int = 0


@dataclass(frozen=True)
class Spec:
    """A whole testbed; TestbedError if its parts do not fit together.

    `spares` are addresses, in the inventory's own network, of nodes that were started without being in the inventory.
    """

    name: str
    network: str
    domain: str
    suite: str = "trixie"
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    prefix: str = "gpupool"
    spares: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        complaints = list(_complaints(self))
        if complaints:
            raise TestbedError(f"testbed {self.name}: " + "; ".join(complaints))

    @property
    def id(self) -> str:
        """Return the name of the testbed's labels, network and state; its containers and volumes have it as prefix."""
        return f"{self.prefix}-{self.name}"

    def part(self, name: str) -> str:
        """Return docker's name for a container or a volume of this testbed."""
        return f"{self.id}-{name}"

    @property
    def machines(self) -> tuple[Container, ...]:
        """Return the nodes that are virtual machines."""
        return tuple(box for box in self.containers if box.machine)

    @property
    def gateway(self) -> str:
        """Return the bridge's address: the last of the network, which inventories rarely use."""
        return str(ipaddress.ip_network(self.network)[-2])


def _complaints(spec: Spec) -> list[str]:
    bad = [
        f"'{word}' is not a valid name for docker (use a-z, 0-9, -)"
        for word in _names(spec)
        if not _NAME.fullmatch(word)
    ]
    bad += [words for box in spec.containers if box.machine for words in _machine_complaints(box, box.machine)]
    bad += [f"no node may be called '{box.name}'" for box in spec.containers if box.name == ANCHOR]
    try:
        network = ipaddress.ip_network(spec.network)
    except ValueError as error:
        return [*bad, f"network {spec.network} is not valid: {error}"]
    reserved = {str(network[0]), str(network[-1]), spec.gateway}
    for box in spec.containers:
        try:
            inside = ipaddress.ip_address(box.address) in network
        except ValueError:
            bad.append(f"{box.name}: '{box.address}' is not an address")
            continue
        if not inside or box.address in reserved:
            bad.append(f"{box.name}: {box.address} is not a free address of {spec.network}")
        known = {volume.key for volume in spec.volumes}
        bad += [f"{box.name}: there is no volume '{key}'" for key in box.volumes if key not in known]
    for kind, values in (
        ("name", [c.name for c in spec.containers]),
        ("address", [c.address for c in spec.containers]),
    ):
        bad += [f"the {kind} {value} is used {count} times" for value, count in Counter(values).items() if count > 1]
    return bad


def _machine_complaints(box: Container, machine: Machine) -> list[str]:
    bad = [f"{box.name}: a virtual machine cannot use volumes of containers"] if box.volumes else []
    if machine.cpus < 1 or machine.threads < 1 or machine.cpus % machine.threads:
        bad.append(f"{box.name}: {machine.cpus} CPUs cannot be divided into cores of {machine.threads} threads")
    if machine.memory < LEAST_MEMORY:
        bad.append(f"{box.name}: {machine.memory} MiB are too little for a virtual machine, which needs {LEAST_MEMORY}")
    if machine.disks and len(f"{box.name}-{len(machine.disks)}") > DISK_NAME:
        bad.append(f"{box.name}: its name is too long for its disks, whose serial numbers have {DISK_NAME} characters")
    return bad


def _names(spec: Spec) -> list[str]:
    return [spec.name, spec.prefix, *(c.name for c in spec.containers), *(v.key for v in spec.volumes)]
