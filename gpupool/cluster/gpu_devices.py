"""Device files of a node's GPUs and MIG slices: from the inventory, or else as drivers create them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpupool.cluster.schema.machines import GpuType, NodeEntry

_NVIDIA = re.compile(r"/dev/nvidia([0-9]+)")
_SLICES = 7  # compute slices of a GPU with MIG
#: Number of the kernel's first render node (its page on DRM, "Render nodes").
_FIRST_RENDER_NODE = 128


@dataclass(frozen=True)
class Device:
    """A GPU or a MIG slice as a gres of Slurm: its GPU type, the GPU type of its card, its device files.

    With `autodetect` slurmd finds the files itself; `files` are used where it cannot.
    """

    gpu: str
    card: str
    vendor: Literal["nvidia", "amd", "intel"]
    files: tuple[str, ...]
    autodetect: str | None = None

    @property
    def is_guess(self) -> bool:
        """Whether `files` may be wrong: those of a slice depend on the order in which the driver created the slices."""
        return self.autodetect is not None and self.card != self.gpu

    @property
    def minors(self) -> Iterator[int]:
        """The N of each /dev/nvidiaN."""
        return (int(match[1]) for file in self.files if (match := _NVIDIA.fullmatch(file)))


def devices_of(types: Mapping[str, GpuType], entry: NodeEntry) -> tuple[Device, ...]:
    """Return the devices that each node of an entry has, in the order of `gpus`; `types` has all their types."""
    free = {"nvidia": 0, "amd": _FIRST_RENDER_NODE, "intel": _FIRST_RENDER_NODE}
    cap = 1
    devices: list[Device] = []
    for gpu, count in entry.gpus.items():
        kind = types[gpu]
        files: list[tuple[str, ...]]
        if declared := entry.devices.get(gpu):
            files = [tuple(device.split(",")) for device in declared]
        elif kind.mig:
            files = _slices(free["nvidia"], cap, count, int(kind.mig.profile[0]))
            cap += 2 * count
            free["nvidia"] += len({file[0] for file in files})
        else:
            pattern = "/dev/nvidia{}" if kind.vendor == "nvidia" else "/dev/dri/renderD{}"
            files = [(pattern.format(free[kind.vendor] + n),) for n in range(count)]
            free[kind.vendor] += count
        card = kind.mig.of if kind.mig else gpu
        devices += [Device(gpu, card, kind.vendor, each, kind.autodetect) for each in files]
    return tuple(devices)


def _slices(gpu: int, cap: int, count: int, size: int) -> list[tuple[str, ...]]:
    each = _SLICES // size
    return [
        (
            f"/dev/nvidia{gpu + n // each}",
            *(f"/dev/nvidia-caps/nvidia-cap{cap + 2 * n + both}" for both in (0, 1)),
        )
        for n in range(count)
    ]


def minors(devices: Sequence[Device]) -> list[int]:
    """Return the N of all /dev/nvidiaN, in order, each once."""
    return sorted({minor for device in devices for minor in device.minors})
