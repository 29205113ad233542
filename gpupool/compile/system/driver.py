"""The GPU driver of a node: which one, from where, and its files on the node."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpupool.cluster.drivers import Driver, drivers
from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.system import driver_packages
from gpupool.compile.template import fill
from gpupool.nvidia.names import of_model, pattern
from gpupool.unix import UNITS
from gpupool.wanted import File, GpuDriver

PINS = "/etc/apt/preferences.d/gpupool-driver"
NOUVEAU = "/etc/modprobe.d/gpupool-nouveau.conf"
#: Creates the device files before slurmd looks for them.
DEVICES_UNIT = f"{UNITS}/gpupool-gpus.service"
#: The service of nodes with NVSwitch, from the package of the fabric manager.
FABRIC = "nvidia-fabricmanager.service"
#: Prints what is wrong with a node's GPUs, in one line; nothing if they are as in the inventory.
CHECK = "/usr/libexec/gpupool/gpus"
SETTINGS = "/etc/gpupool/gpus.json"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the check of a node's GPUs, and for the driver its pins and the units that start before slurmd."""
    if node.has("compute") and cluster.drivers.gpu == "nvidia":
        yield from _check(cluster, node.devices, tuple(node.minors_out_of_service))
    if wanted := driver_for(cluster, node):
        yield File(PINS, fill("driver.pref", cluster=cluster, driver=wanted, patterns=driver_packages.PATTERNS))
        yield File(NOUVEAU, fill("nouveau.conf", cluster=cluster))
        yield File(DEVICES_UNIT, fill("gpus.service", cluster=cluster, minors=node.nvidia_minors))
        fabric = FABRIC if has_nvswitch(node) else ""
        text = fill("slurmd-gpus.conf", cluster=cluster, fabric=fabric)
        yield File(f"{UNITS}/slurmd.service.d/gpupool-gpus.conf", text)


def has_check(cluster: Cluster, node: Node) -> bool:
    """Return whether the node runs jobs on real GPUs that can be checked."""
    return node.has("compute") and cluster.drivers.gpu == "nvidia" and _countable(node.devices)


@lru_cache(maxsize=1024)
def _check(cluster: Cluster, devices: tuple[Device, ...], out_of_service: tuple[int, ...]) -> tuple[File, ...]:
    """Return the check of nodes with these GPUs, and its settings; empty if the GPUs cannot be counted."""
    if not _countable(devices):
        return ()
    command = File(CHECK, fill("gpus", home=HOME, settings=SETTINGS), mode="0755")
    return (*program("gpus"), File(SETTINGS, settings(cluster, devices, out_of_service)), command)


def _countable(devices: tuple[Device, ...]) -> bool:
    """Return whether there are GPUs of NVIDIA and all can be counted: for some MIG slices, only the driver can."""
    return bool(minors(devices)) and not any(device.is_guess for device in devices)


def driver_of(cluster: Cluster, node: Node) -> Driver | None:
    """Return the wanted driver of a node; None without real GPUs, or if the inventory sets none."""
    if cluster.drivers.gpu != "nvidia":
        return None
    driver = _by_node(cluster).get(node.name)
    return driver if driver and node.nvidia_minors else None


def driver_for(cluster: Cluster, node: Node) -> GpuDriver | None:
    """Return the packages of a node's driver; None without a driver, or for one without a branch."""
    driver = driver_of(cluster, node)
    if driver is None or driver.branch is None:
        return None
    find = driver_packages.from_repository if driver.repository else driver_packages.from_distribution
    wanted = find(node.system, driver.branch, driver.module, driver.version)
    if has_nvswitch(node):
        return driver_packages.with_fabric_manager(node.system, wanted, repository=bool(driver.repository))
    return wanted


def has_nvswitch(node: Node) -> bool:
    """Return whether NVSwitch connects a node's GPUs: without the fabric manager, no program can use them."""
    return bool(node.hardware and node.hardware.nvswitch)


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository of the driver, if it is not the distribution."""
    driver = driver_of(cluster, node)
    if driver and driver.repository:
        yield driver.repository


def settings(cluster: Cluster, devices: tuple[Device, ...], out_of_service: tuple[int, ...] = ()) -> str:
    """Return the settings of the check: GPUs by type, and patterns of the names that nvidia-smi prints."""
    gpus = {
        # A model that is in no table may have any name.
        card: {"count": count, "models": [pattern(model) if of_model(model) else ".*" for model in models or ("",)]}
        for card, (gpu, count) in _cards(devices).items()
        for models in [cluster.gpu_types[gpu].models]
    }
    about = f"Written by gpupool from the inventory of {cluster.name}; changes made here are undone by the next apply."
    gone = {"out_of_service": list(out_of_service)} if out_of_service else {}
    return json.dumps({"about": about, "gpus": gpus, **gone}, indent=1) + "\n"


def _cards(devices: tuple[Device, ...]) -> dict[str, tuple[str, int]]:
    """Return (GPU type, count) of NVIDIA's GPUs by the type of the card; the slices of a card count as one GPU."""
    cards: dict[str, tuple[str, set[int]]] = {}
    for device in devices:
        if device.vendor == "nvidia":
            cards.setdefault(device.card, (device.gpu, set()))[1].update(device.minors)
    return {card: (gpu, len(numbers)) for card, (gpu, numbers) in cards.items()}


@lru_cache(maxsize=4)
def _by_node(cluster: Cluster) -> Mapping[str, Driver]:
    chosen = drivers(cluster.software, cluster.select, lambda name: cluster.nodes[name].system)
    return {name: driver for driver in chosen for name in driver.nodes}
