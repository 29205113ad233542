"""Comparison of a machine with its hardware and GPUs in the inventory, and an entry for a new machine."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import GpuType, Hardware
from gpupool.cluster.schema.scheduling import Slurm
from gpupool.cluster.units import format_size
from gpupool.facts.hardware import Machine
from gpupool.nvidia.names import pattern
from gpupool.programs.gpus.declared import differences, is_model

_FIRMWARE = 0.90  # firmware and kernel leave at least this part of the nominal memory
_ABOVE = 1.02
_MIB = 1024**2


def disk_path(inventory: Inventory) -> str:
    """Return the path of the disk for jobs on all nodes: of the hardware, else of Slurm's parameters, else /tmp."""
    own = {key.lower(): value for key, value in inventory.slurm.parameters.items()}
    disks = (hardware.local_disk for hardware in inventory.hardware.values())
    return next((disk.path for disk in disks if disk and disk.path), own.get("tmpfs", "/tmp"))


def misfits(machine: Machine, hardware: Hardware, slurm: Slurm) -> Iterator[str]:
    """Yield a text on each difference between a machine and a hardware entry; `slurm` has the reserves."""
    if hardware.cpus != machine.cpus:
        yield f"{machine.cpus} CPUs, not {hardware.cpus}"
    for key in ("sockets", "cores", "threads"):
        wanted, actual = getattr(hardware, key), getattr(machine, key)
        if wanted is not None and wanted != actual:
            of = {"sockets": "", "cores": " for each socket", "threads": " for each core"}[key]
            yield f"{actual} {key}{of}, not {wanted}"
    if hardware.arch is not None and hardware.arch != machine.arch:
        yield f"{machine.arch}, not {hardware.arch}"
    real_memory = hardware.slurm_memory(slurm.memory_reserve)
    if machine.memory < real_memory:
        yield f"memory of {machine.memory}M, less than RealMemory, {real_memory}M"
    elif hardware.memory and machine.memory > hardware.memory * _ABOVE:
        yield f"memory of {machine.memory}M, not {format_size(hardware.memory)}"
    elif hardware.real_memory and not hardware.memory and machine.memory * _FIRMWARE > hardware.real_memory:
        yield f"memory of {machine.memory}M, not {hardware.real_memory}M"
    disk = hardware.local_disk.slurm_size(slurm.disk_reserve) if hardware.local_disk else None
    # A file system that is absent may be created by apply.
    if disk is not None and machine.tmp is not None and machine.tmp < disk:
        yield f"a disk for jobs of {machine.tmp}M, less than TmpDisk, {disk}M"
    if hardware.gpu_slots is not None and len(machine.gpus) > hardware.gpu_slots:
        yield f"{len(machine.gpus)} GPUs, and {hardware.gpu_slots} slots"


def fitting(machine: Machine, known: Mapping[str, Hardware], slurm: Slurm) -> list[str]:
    """Return the names of the hardware that a machine matches."""
    return [name for name, hardware in known.items() if not any(misfits(machine, hardware, slurm))]


def proposal(machine: Machine) -> dict[str, Any]:
    """Return an entry of `hardware` for a machine that matches no existing hardware."""
    slots = {"gpu_slots": len(machine.gpus)} if machine.gpus else {}
    return {
        "cpus": machine.cpus,
        "sockets": machine.sockets,
        "cores": machine.cores,
        "threads": machine.threads,
        "real_memory": f"{machine.memory // 1000 * 1000}M",
        **slots,
    }


def new_name(machine: Machine, known: Iterable[str]) -> str:
    """Return a new name for the hardware of a machine, from its product or its number of CPUs."""
    words = re.findall(r"[a-z0-9]+", machine.product.lower())[:4]
    base = "-".join(words) if words and words[0] not in ("to", "none", "standard") else f"cpu-{machine.cpus}"
    taken = {*known}
    return next(name for n in range(1, 1000) if (name := base if n == 1 else f"{base}-{n}") not in taken)


def counted(machine: Machine, types: Mapping[str, GpuType]) -> tuple[dict[str, int], list[str]]:
    """Return counts of a machine's GPUs by the inventory's types, and the names of GPUs that match no single type."""
    seen: Counter[str] = Counter()
    strange: list[str] = []
    for name in machine.gpus:
        fits = [
            gpu
            for gpu, kind in types.items()
            if kind.vendor == "nvidia" and not kind.mig and _is_any(name, kind.models)
        ]
        if len(fits) == 1:
            seen[fits[0]] += 1
        else:
            strange.append(name)
    return dict(seen), strange


def wrong_gpus(machine: Machine, wanted: Mapping[str, int], types: Mapping[str, GpuType]) -> Iterator[str]:
    """Yield the problems of a machine's GPUs; without a driver, they have no names and are only counted.

    GPUs of other vendors and MIG slices are not checked here, but by acceptance.
    """
    ours = {gpu: count for gpu, count in wanted.items() if types[gpu].vendor == "nvidia" and not types[gpu].mig}
    if len(ours) < len(wanted):
        return
    yield from (f"the driver does not see the GPU at {address}" for address in machine.unseen)
    if all(machine.gpus):
        models = {gpu: [pattern(model) for model in types[gpu].models] for gpu in ours}
        yield from differences(ours, models, machine.gpus)
    else:
        yield from wrong_count(len(machine.gpus), ours)


def wrong_count(number: int, wanted: Mapping[str, int]) -> Iterator[str]:
    """Yield the problem if the number of GPUs differs from the declared number."""
    if number != sum(wanted.values()):
        declared = ", ".join(f"{count} {gpu}" for gpu, count in wanted.items()) or "none"
        yield f"{number} GPU{'' if number == 1 else 's'}, but {declared} declared"


def disks(machine: Machine) -> str:
    """Return a short text on a machine's disks: `2 x 894G, 1 x 7153G`."""
    sizes = Counter(size // _MIB // 1024 for _, size in machine.disks)
    return ", ".join(f"{count} x {size}G" for size, count in sorted(sizes.items(), reverse=True)) or "none"


def summary(machine: Machine) -> str:
    """Return a machine's hardware in one line."""
    gpus = ", ".join(f"{count} x {name or 'GPU'}" for name, count in Counter(machine.gpus).items())
    gpus = gpus or (f"{len(machine.files)} device files of GPUs" if machine.files else "no GPUs")
    shape = f"{machine.sockets} x {machine.cores} x {machine.threads}"
    return f"{machine.cpus} CPUs ({shape}), {machine.memory}M, {gpus}, disks: {disks(machine)}"


def _is_any(name: str, models: Iterable[str]) -> bool:
    return any(is_model(name, pattern(model)) for model in models)
