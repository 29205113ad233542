"""The GPU driver of a node: which one, from where, and what goes with it on the node."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpupool.cluster.drivers import Driver, drivers
from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.model import Cluster, Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.system import driver_packages
from gpupool.compile.template import fill
from gpupool.nvidia.names import of_model, pattern
from gpupool.unix import UNITS
from gpupool.wanted import File, GpuDriver

PINS = "/etc/apt/preferences.d/gpupool-driver"
NOUVEAU = "/etc/modprobe.d/gpupool-nouveau.conf"
#: Makes the device files, before slurmd looks for them.
DEVICES_UNIT = f"{UNITS}/gpupool-gpus.service"
#: Prints what is wrong with a node's GPUs, in one line; nothing where they are as the inventory says.
CHECK = "/usr/libexec/gpupool/gpus"
SETTINGS = "/etc/gpupool/gpus.json"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the check of a node's GPUs, and for the driver its pins and the units that come before slurmd."""
    if node.has("compute") and cluster.drivers.gpu == "nvidia":
        yield from _check(cluster, node.devices)
    if wanted := driver_for(cluster, node):
        yield File(PINS, fill("driver.pref", cluster=cluster, driver=wanted, patterns=driver_packages.PATTERNS))
        yield File(NOUVEAU, fill("nouveau.conf", cluster=cluster))
        yield File(DEVICES_UNIT, fill("gpus.service", cluster=cluster, minors=node.nvidia_minors))
        yield File(f"{UNITS}/slurmd.service.d/gpupool-gpus.conf", fill("slurmd-gpus.conf", cluster=cluster))


def has_check(cluster: Cluster, node: Node) -> bool:
    """Return whether the node runs jobs on real GPUs, which can be looked at."""
    return node.has("compute") and cluster.drivers.gpu == "nvidia" and _countable(node.devices)


@lru_cache(maxsize=1024)
def _check(cluster: Cluster, devices: tuple[Device, ...]) -> tuple[File, ...]:
    """Return the check of nodes with these GPUs, and what it reads; none where they cannot be counted."""
    if not _countable(devices):
        return ()
    command = File(CHECK, fill("gpus", home=HOME, settings=SETTINGS), mode="0755")
    return (*program("gpus"), File(SETTINGS, settings(cluster, devices)), command)


def _countable(devices: tuple[Device, ...]) -> bool:
    """Return whether NVIDIA's are among some GPUs; False where only the driver knows how many GPUs slices are of."""
    return bool(minors(devices)) and not any(device.is_guess for device in devices)


def driver_of(cluster: Cluster, node: Node) -> Driver | None:
    """Return the driver that a node shall have; None without real GPUs, or where the inventory says nothing of it."""
    if cluster.drivers.gpu != "nvidia":
        return None
    driver = _by_node(cluster).get(node.name)
    return driver if driver and node.nvidia_minors else None


def driver_for(cluster: Cluster, node: Node) -> GpuDriver | None:
    """Return the packages of a node's driver; None where it shall have none."""
    driver = driver_of(cluster, node)
    if driver is None or driver.branch is None:
        return None
    if driver.repository:
        return driver_packages.from_repository(driver.branch, driver.module, driver.version)
    return driver_packages.from_debian(cluster.software.debian, driver.branch, driver.module, driver.version)


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository that the driver comes from, if not from the distribution."""
    driver = driver_of(cluster, node)
    if driver and driver.repository:
        yield driver.repository


def settings(cluster: Cluster, devices: tuple[Device, ...]) -> str:
    """Return what the check reads: GPUs by type, and the patterns of the names that they have by themselves."""
    gpus = {
        # a model that is in no table may have any name by itself
        card: {"count": count, "models": [pattern(model) if of_model(model) else ".*" for model in models or ("",)]}
        for card, (gpu, count) in _cards(devices).items()
        for models in [cluster.gpu_types[gpu].models]
    }
    about = f"Written by gpupool from the inventory of {cluster.name}; changes made here are undone by the next apply."
    return json.dumps({"about": about, "gpus": gpus}, indent=1) + "\n"


def _cards(devices: tuple[Device, ...]) -> dict[str, tuple[str, int]]:
    """Return how many GPUs of NVIDIA there are by their type, with a type of their slices: slices are no GPUs."""
    cards: dict[str, tuple[str, set[int]]] = {}
    for device in devices:
        if device.vendor == "nvidia":
            cards.setdefault(device.card, (device.gpu, set()))[1].update(device.minors)
    return {card: (gpu, len(numbers)) for card, (gpu, numbers) in cards.items()}


@lru_cache(maxsize=4)
def _by_node(cluster: Cluster) -> Mapping[str, Driver]:
    return {name: driver for driver in drivers(cluster.software, cluster.select) for name in driver.nodes}
