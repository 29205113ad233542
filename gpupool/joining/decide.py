"""The choice of hardware and GPUs for a machine that joins, or the reason why it is refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.own_hardware import is_own
from gpupool.cluster.schema import Inventory
from gpupool.facts.hardware import Machine
from gpupool.joining import compare


@dataclass(frozen=True)
class MachineOptions:
    """The admin's options for machines: hardware, GPUs by type, minimum Mbit/s to fileservers; None if not given.

    `in_service` are the GPUs that a known node must have: GPUs out of service may be missing. `addresses` are words
    like fabric=10.67.1.9.
    """

    hardware: str | None = None
    gpus: Mapping[str, int] | None = None
    network: int | None = None
    in_service: Mapping[str, int] | None = None
    addresses: tuple[str, ...] = ()


@dataclass
class Choice:
    """The hardware of a machine, from the inventory or `new`, and its GPUs; `wrong` has the reasons to refuse it."""

    hardware: str | None = None
    new: dict[str, Any] | None = None
    gpus: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def choose(machine: Machine, options: MachineOptions, inventory: Inventory, cluster: Cluster) -> Choice:
    """Compare a machine with the inventory: find a hardware that fits, or propose a new one.

    In a testbed of containers, CPUs and memory are the host's, so only device files are compared.
    """
    choice = Choice()
    _choose_hardware(choice, machine, options, inventory, claimed=cluster.drivers.cpus == "claimed")
    if not choice.wrong:
        _choose_gpus(choice, machine, options, inventory, fake=cluster.drivers.gpu == "fake")
    return choice


def _choose_hardware(
    choice: Choice, machine: Machine, options: MachineOptions, inventory: Inventory, claimed: bool
) -> None:
    known, slurm = inventory.hardware, inventory.slurm
    if claimed:
        choice.hardware = options.hardware or next((name for name in known if not is_own(name)), None)
        if choice.hardware is None:
            choice.wrong.append("the inventory has no entry of `hardware`, and a container has only its host's")
        elif choice.hardware not in known:
            choice.wrong.append(f"there is no hardware {choice.hardware} in the inventory")
        return
    if options.hardware in known:
        choice.hardware = options.hardware
        differs = list(compare.misfits(machine, known[choice.hardware], slurm))
        choice.wrong += [f"it is not {choice.hardware}: {'; '.join(differs)}"] if differs else []
        return
    named = {name: hardware for name, hardware in known.items() if not is_own(name)}
    fits = [] if options.hardware else compare.fitting(machine, named, slurm)
    if len(fits) > 1:
        choice.wrong.append(f"it fits {', '.join(fits)} (choose one with --hardware)")
    elif fits:
        choice.hardware = fits[0]
    else:
        choice.hardware = options.hardware or compare.new_name(machine, known)
        choice.new = compare.proposal(machine)


def _choose_gpus(choice: Choice, machine: Machine, options: MachineOptions, inventory: Inventory, fake: bool) -> None:
    types = inventory.gpu_types
    like, siblings = _siblings(choice.hardware, inventory)
    wanted = options.gpus if options.gpus is not None else siblings
    if wanted is not None and (strange := [gpu for gpu in wanted if gpu not in types]):
        choice.wrong.append(f"there is no GPU type {', '.join(strange)} in the inventory (add it to gpu_types)")
        return
    hint = f" (as on {like}; --gpus overrides it)" if options.gpus is None and like else ""
    if wanted is not None:
        choice.gpus = dict(wanted)

        def wrong(gpus: Mapping[str, int]) -> list[str]:
            found = compare.wrong_count(len(machine.files), gpus) if fake else compare.wrong_gpus(machine, gpus, types)
            return [f"{why}{hint}" for why in found]

        if options.in_service is None or wrong(options.in_service):
            choice.wrong += wrong(wanted)
        return
    if fake and machine.files:
        choice.wrong.append(
            f"{len(machine.files)} GPUs, whose type cannot be seen here (set it with --gpus TYPE:COUNT)"
        )
        return
    choice.gpus, strange = ({}, []) if fake else compare.counted(machine, types)
    choice.wrong += list(_unknown(strange))


def _unknown(names: list[str]) -> Iterator[str]:
    nameless = names.count("")
    if nameless:
        yield f"{nameless} GPUs cannot be identified before their driver is installed (set them with --gpus TYPE:COUNT)"
    for name in sorted({*names} - {""}):
        yield f"the GPU {name} matches no GPU type of the inventory, or several (add it to gpu_types, or use --gpus)"


def _siblings(hardware: str | None, inventory: Inventory) -> tuple[str, dict[str, int] | None]:
    """Return the name of a node with this hardware, and the GPUs that all such nodes have; None if they differ."""
    same = [entry for entry in inventory.nodes if hardware and entry.hardware == hardware and "compute" in entry.roles]
    if not same or any(entry.gpus != same[0].gpus for entry in same):
        return "", None
    return same[0].name, dict(same[0].gpus)
