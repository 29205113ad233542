"""Parse the output of lspci, NVIDIA's driver and nvidia-smi about a node's GPUs."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

#: Fields of `nvidia-smi --query-gpu=… --format=csv,noheader`, which has no field for the minor number.
QUERY = ("name", "uuid", "pci.bus_id", "driver_version", "mig.mode.current")

_DISPLAY = ("0300", "0302")  # PCI classes: VGA compatible controller, 3D controller
_PCI = re.compile(r"(?P<address>[0-9a-f:.]+) .*? \[(?P<kind>\w{4})\]: (?P<name>.*) \[(?P<id>10de:\w{4})\]")
_MODULE = re.compile(r"NVRM version: NVIDIA UNIX (?P<open>Open )?.*?Kernel Module.*?  (?P<version>\d+(?:\.\d+)+)")
_GPU = re.compile(r"GPU \d+: (?P<model>.*) \(UUID: (?P<uuid>[^)]*)\)")
_MIG = re.compile(r" +MIG (?P<profile>\S+) +Device +\d+: \(UUID: (?P<uuid>MIG-[^)]*)\)")
_BLOCK = re.compile(r"^GPU (?=[0-9A-Fa-f]+:)", flags=re.MULTILINE)
_MIG_MODE = re.compile(r"^ +MIG Mode\n +Current +: (.*)$", flags=re.MULTILINE)
_HANDLE = re.compile(r"Unable to determine the device handle for (?:GPU|gpu) ?(?P<address>[\w:.]+): *(?P<reason>.*)")


@dataclass(frozen=True)
class PciGpu:
    """A GPU on the PCI bus, with or without a driver: its address, its PCI id, and its name in lspci's list."""

    address: str
    id: str
    name: str


@dataclass(frozen=True)
class DriverModule:
    """The loaded kernel module; `open` is whether it is NVIDIA's open module."""

    version: str
    open: bool


@dataclass(frozen=True)
class Mig:
    """A MIG instance of a GPU, with a profile such as 1g.10gb."""

    profile: str
    uuid: str


@dataclass(frozen=True)
class Gpu:
    """A GPU as the driver knows it; fields are None if the source lacks them or reports them as unknown.

    `minor` is N of /dev/nvidiaN, `driver` a version, `mig` whether MIG mode is on.
    """

    model: str | None = None
    uuid: str | None = None
    address: str | None = None
    minor: int | None = None
    driver: str | None = None
    mig: bool | None = None
    instances: tuple[Mig, ...] = ()


def address_of(text: str) -> str:
    """Return a PCI address in the kernel's form, 0000:4f:00.0; nvidia-smi prints a longer domain, lspci none."""
    domain, bus, device = f"0000:{text}".lower().split(":")[-3:]
    return f"{int(domain, 16):04x}:{bus}:{device}"


def from_lspci(lines: Sequence[str]) -> list[PciGpu]:
    """Return NVIDIA's GPUs from `lspci -Dnn`, without their audio and USB devices, and without NVSwitches."""
    matches = [match for line in lines if (match := _PCI.match(line)) and match["kind"] in _DISPLAY]
    return [
        PciGpu(address_of(match["address"]), match["id"], match["name"].removeprefix("NVIDIA Corporation "))
        for match in matches
    ]


def from_version(text: str) -> DriverModule | None:
    """Return the module from /proc/driver/nvidia/version; None if none is loaded."""
    match = _MODULE.search(text)
    return DriverModule(match["version"], bool(match["open"])) if match else None


def from_information(text: str) -> Gpu:
    """Return the GPU from /proc/driver/nvidia/gpus/ADDRESS/information."""
    values = _values(text.splitlines())
    address, minor = values.get("Bus Location"), values.get("Device Minor")
    return Gpu(
        _model(values.get("Model")),
        _uuid(values.get("GPU UUID")),
        address_of(address) if address else None,
        int(minor) if minor else None,
    )


def from_query(lines: Sequence[str], fields: Sequence[str] = QUERY) -> list[Gpu]:
    """Return the GPUs from `nvidia-smi --query-gpu=FIELDS --format=csv,noheader`; lines of messages are skipped."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    gpus = []
    for row in (dict(zip(fields, row, strict=True)) for row in rows if len(row) == len(fields)):
        address = row.get("pci.bus_id")
        gpus.append(
            Gpu(
                _model(row.get("name")),
                _uuid(row.get("uuid")),
                address_of(address) if address else None,
                driver=row.get("driver_version"),
                mig=_mode(row.get("mig.mode.current")),
            )
        )
    return gpus


def from_list(lines: Sequence[str]) -> list[Gpu]:
    """Return the GPUs from `nvidia-smi -L`, the only output with MIG instances, each below its GPU."""
    gpus: list[Gpu] = []
    for line in lines:
        if match := _GPU.match(line):
            gpus.append(Gpu(_model(match["model"]), _uuid(match["uuid"])))
        elif gpus and (match := _MIG.match(line)):
            instance = Mig(match["profile"], match["uuid"])
            gpus[-1] = replace(gpus[-1], mig=True, instances=(*gpus[-1].instances, instance))
    return gpus


def from_details(text: str) -> list[Gpu]:
    """Return the GPUs from `nvidia-smi -q`, which has everything except the UUIDs of MIG instances."""
    head, *blocks = _BLOCK.split(text)
    general = _values(head.splitlines())
    driver = general.get("Driver Version", general.get("KMD Version"))  # the newer name, since branch 610
    gpus = []
    for block in blocks:
        address, *lines = block.splitlines()
        values = _values(lines)
        minor, mode = values.get("Minor Number", ""), _MIG_MODE.search(block)
        gpus.append(
            Gpu(
                _model(values.get("Product Name")),
                _uuid(values.get("GPU UUID")),
                address_of(address.strip()),
                int(minor) if minor.isdigit() else None,
                driver,
                _mode(mode[1]) if mode else None,
            )
        )
    return gpus


def lost(text: str) -> Iterator[tuple[str, str]]:
    """Yield address and reason of each GPU that nvidia-smi cannot reach: `GPU has fallen off the bus`, for example."""
    for match in _HANDLE.finditer(text):
        yield address_of(match["address"]), match["reason"].strip()


def unseen(slots: Sequence[PciGpu], gpus: Sequence[Gpu]) -> list[PciGpu]:
    """Return the GPUs on the PCI bus that the driver does not know."""
    known = {gpu.address for gpu in gpus}
    return [slot for slot in slots if slot.address not in known]


def _values(lines: Sequence[str]) -> dict[str, str]:
    """Return the first value of each key in lines of `key: value`."""
    values: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            values.setdefault(key.strip(), value.strip())
    return values


def _model(name: str | None) -> str | None:
    return None if name in (None, "", "Unknown", "Unknown Error", "N/A", "[N/A]") else name


def _uuid(text: str | None) -> str | None:
    # question marks: the driver has not initialized the GPU, or cannot
    return text if text and text.startswith("GPU-") and text != "GPU-" and "?" not in text else None


def _mode(text: str | None) -> bool | None:
    return {"Enabled": True, "Disabled": False}.get((text or "").strip())
