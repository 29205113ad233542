"""The hardware of a machine, from its kernel and, if installed, the driver of its GPUs."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.programs.gpus import answers
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "hardware.sh")
_FIELDS = ("name", "uuid", "pci.bus_id")


@dataclass(frozen=True)
class Machine(Shown):
    """CPUs in `sockets`, `cores` of each and `threads` of each core; memory in MiB; disks by name in bytes.

    `tmp` is the size of the disk for jobs in MiB; None if the machine does not have its path.

    `gpus` are the names of NVIDIA's GPUs, "" if a name is unknown without a driver; `unseen` are the PCI addresses of
    GPUs that the driver does not see. `files` are the device files of GPUs.
    """

    arch: str
    product: str
    cpus: int
    sockets: int
    cores: int
    threads: int
    memory: int
    tmp: int | None
    disks: tuple[tuple[str, int], ...]
    gpus: tuple[str, ...]
    unseen: tuple[str, ...]
    files: tuple[str, ...]


class Hardware(Fact[Machine]):
    """The hardware of a machine, in one command."""

    def command(self, tmp: str = "/tmp") -> StringCommand:
        """Ask the kernel and the driver; `tmp` is the path of the disk for jobs."""
        return ask(_LOOK, tmp)

    def read(self, lines: list[str]) -> Machine:
        """Read the answer."""
        output: dict[str, list[str]] = {}
        for line in lines:
            word, _, value = line.partition(" ")
            output.setdefault(word, []).append(value.strip())
        cpus = [line.split() for line in output.get("cpu", ()) if len(line.split()) == 3]
        sockets = {socket for _, _, socket in cpus}
        cores = {(core, socket) for _, core, socket in cpus}
        gpus, unseen = _gpus(output)
        return Machine(
            arch=_first(output.get("arch", ())),
            product=_first(output.get("product", ())),
            cpus=len(cpus),
            sockets=len(sockets),
            cores=len(cores) // max(1, len(sockets)),
            threads=len(cpus) // max(1, len(cores)),
            memory=int(_first(output.get("memory", ())) or 0) // 1024,
            tmp=int(_first(output["tmp"]) or 0) // 1024 if "tmp" in output else None,
            disks=tuple((name, int(size)) for name, size in (line.split() for line in output.get("disk", ()))),
            gpus=gpus,
            unseen=unseen,
            files=tuple(output.get("file", ())),
        )


def _gpus(values: dict[str, list[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all GPUs, and the addresses of GPUs that the driver does not see; none without driver."""
    slots = [answers.address_of(slot) for slot in values.get("slot", ())]
    listed = {card.address: _in_brackets(card.name) for card in answers.from_lspci(values.get("lspci", ()))}
    seen = answers.from_query(values.get("smi", ()), _FIELDS)
    by_driver = {gpu.address: gpu.model or "" for gpu in seen if gpu.address}
    addresses = dict.fromkeys(
        (*slots, *by_driver)
    )  # the PCI class, by which slots are found, is hidden by some hypervisors
    names = tuple(by_driver.get(address) or listed.get(address, "") for address in addresses)
    return names, tuple(slot for slot in slots if slot not in by_driver) if by_driver else ()


def _in_brackets(name: str) -> str:
    """Return the model of lspci's `GA102GL [A40]`, "" for a name without brackets: lspci does not know the model."""
    _, bracket, rest = name.partition("[")
    return rest.partition("]")[0] if bracket else ""


def _first(values: Iterable[str]) -> str:
    return next(iter(values), "")
