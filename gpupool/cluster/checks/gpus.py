"""Check that Slurm can find the GPUs: MIG slices, vendors, device files of mixed hosts, and the site's own gres."""

from collections import Counter
from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.machines import GpuType, NodeEntry
from gpupool.nvidia.nvml import reported
from gpupool.slurm.releases import has

_LIBRARIES = {"nvidia": ("nvml", "nvidia"), "amd": ("rsmi",), "intel": ("oneapi",)}
_PLUGINS = ("gpu", "mps", "shard", "nic", "bandwidth")  # Slurm has plugins for these gres, so they are not plain counts
_OURS = "out_of_service"  # the gres of broken GPUs


def ensure_gpu_types_can_be_found(site: Site) -> Iterator[Complaint]:
    """`autodetect` fits the vendor; a MIG slice has a name that NVML finds, and is part of a GPU type that exists."""
    types, version = site.inventory.gpu_types, site.inventory.slurm.version
    for name, kind in types.items():
        path: Path = ("gpu_types", name)
        if kind.autodetect and kind.autodetect not in _LIBRARIES[kind.vendor]:
            message = f"{kind.autodetect} does not find GPUs of {kind.vendor}"
            yield Complaint((*path, "autodetect"), message, f"use {' or '.join(_LIBRARIES[kind.vendor])}")
        elif kind.autodetect == "nvidia" and not has(version, "AutoDetect=nvidia"):
            yield Complaint((*path, "autodetect"), f"Slurm {version} does not have `nvidia`", "use nvml")
        if kind.autodetect == "nvml" and kind.vendor == "nvidia":
            yield from _named_by_nvml(path, name, kind)
        if kind.mig is None:
            continue
        if kind.vendor != "nvidia":
            yield Complaint((*path, "mig"), "only NVIDIA's GPUs have MIG", "remove mig, or the vendor")
        if kind.mig.of == name or kind.mig.of not in types or types[kind.mig.of].mig:
            message = f"{kind.mig.of!r} is not a GPU type that can be divided"
            yield Complaint((*path, "mig", "of"), message, "name the type of the whole GPU")
        if kind.autodetect == "nvidia":
            yield Complaint((*path, "autodetect"), "`nvidia` does not find MIG slices", "use nvml")


def _named_by_nvml(path: Path, name: str, kind: GpuType) -> Iterator[Complaint]:
    profile = kind.mig.profile if kind.mig else ""
    known = [full for model in kind.models for full in reported(model, profile)]
    short = [full.removeprefix("nvidia_") for full in known]
    if kind.mig and profile not in name:
        fit = short or [f"{kind.mig.of}_{profile}"]
        message = f"NVML finds slices by a part of their name, such as {fit[0]}"
        yield Complaint(path, message, f"call this type {' or '.join(fit)}")
    elif known and not any(name.lower() in full for full in known):
        message = f"slurmd finds these GPUs by a part of NVML's name, and {name} is no part of {' or '.join(known)}"
        hint = f"call this type {' or '.join(short)}, as `nvidia-smi -L` on the node has it"
        yield Complaint(path, message, hint, severity="warning")


def ensure_devices_are_gpus(site: Site) -> Iterator[Complaint]:
    """Each GPU of a node has separate device files, which `devices` lists, or which are found without it."""
    types = site.inventory.gpu_types
    for index, entry in enumerate(site.inventory.nodes):
        kinds = {gpu: types[gpu] for gpu in entry.gpus if gpu in types}
        path: Path = ("nodes", index)
        yield from _named(path, entry)
        if kinds:
            yield from _autodetected(site, path, entry, kinds)
        for gpu in entry.gpu_memory:
            if gpu not in entry.gpus:
                yield Complaint((*path, "gpu_memory", gpu), f"{entry.name} has no {gpu}", "remove it")


def ensure_jobs_open_only_their_gpus(site: Site) -> Iterator[Complaint]:
    """Where labs have caps, a job cannot use GPUs that Slurm has given to others."""
    if not site.inventory.gpu.constrain_devices and site.accounts_of_kind("lab"):
        message = "a job can open all GPUs of its node, and a user gets past the cap of a lab"
        yield Complaint(("gpu", "constrain_devices"), message, "remove it", "warning")


def ensure_own_gres_are_plain(site: Site) -> Iterator[Complaint]:
    """The site's own gres are plain counts: Slurm has no plugin for them."""
    entries = site.inventory.nodes
    for name in _PLUGINS:
        having = [index for index, entry in enumerate(entries) if name in entry.gres]
        if having:
            message = f"Slurm has a plugin for {name}: it is not a plain count"
            hint = "use gpus" if name == "gpu" else "use another name"
            others = f"; also in {listed([f'nodes[{index}]' for index in having[1:]])}" if having[1:] else ""
            yield Complaint(("nodes", having[0], "gres", name), message, hint + others)
    for index, entry in enumerate(entries):
        path: Path = ("nodes", index, "gres")
        if _OURS in entry.gres:
            yield Complaint((*path, _OURS), "gpupool uses this name for broken GPUs", "use another name")
        if entry.gres and "compute" not in entry.roles:
            yield Complaint(path, f"{entry.name} runs no jobs, which could use it", "remove it")


def _named(path: Path, entry: NodeEntry) -> Iterator[Complaint]:
    used = Counter(item for items in entry.devices.values() for item in items)
    for gpu, items in entry.devices.items():
        if gpu not in entry.gpus:
            yield Complaint((*path, "devices", gpu), f"{entry.name} has no {gpu}", "correct gpus, or remove it")
        elif len(items) != entry.gpus[gpu]:
            message = f"{len(items)} items for {entry.gpus[gpu]} {gpu}"
            yield Complaint(
                (*path, "devices", gpu), message, "one item for each; commas separate several files of an item"
            )
        if twice := next((item for item in items if used[item] > 1), None):
            yield Complaint((*path, "devices", gpu), f"{twice} is named {used[twice]} times", "name each file once")
    if entry.devices and (others := [gpu for gpu, count in entry.gpus.items() if count and gpu not in entry.devices]):
        message = f"the device files of {' and '.join(others)} are not named"
        yield Complaint((*path, "devices"), message, "name those of all types, or of none")


def _autodetected(site: Site, path: Path, entry: NodeEntry, kinds: dict[str, GpuType]) -> Iterator[Complaint]:
    ways = {kind.autodetect for kind in kinds.values()}
    vendors = list(dict.fromkeys(kind.vendor for kind in kinds.values()))
    slices = [gpu for gpu, kind in kinds.items() if kind.mig]
    if len(ways) > 1:
        message = f"{' and '.join(kinds)} are found in different ways: slurmd finds all GPUs of a node in one"
        yield Complaint((*path, "gpus"), message, "set the same autodetect, or none, and devices")
        return
    if ways != {None}:
        shape = site.inventory.hardware.get(entry.hardware or "")
        if entry.devices:
            message = f"{' and '.join(kinds)} are found by slurmd itself"
            yield Complaint((*path, "devices"), message, "remove devices, or autodetect of these GPU types")
        if shape and shape.cpus_kept_per_gpu:
            message = "cpus_kept_per_gpu needs the GPUs' cores in gres.conf, and autodetect leaves them out"
            yield Complaint((*path, "gpus"), message, "remove autodetect, or cpus_kept_per_gpu of this hardware")
    elif not entry.devices and slices:
        message = f"the device files of {' and '.join(slices)} are not known"
        hint = "set autodetect: nvml there, or devices here: /dev/nvidia0,/dev/nvidia-caps/nvidia-cap21,…"
        yield Complaint((*path, "gpus"), message, hint)
    elif not entry.devices and len(vendors) > 1:
        message = f"{entry.name} has GPUs of {' and '.join(vendors)}: their device files are not known"
        yield Complaint((*path, "gpus"), message, "set devices")
