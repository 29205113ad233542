"""All that is known, and asked, before anything is touched: host keys, hardware, and the inventory as it would be."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpupool.cluster.edit.files import Draft, draft, finish
from gpupool.cluster.schema import Inventory
from gpupool.errors import GpupoolError, UsageError
from gpupool.facts.hardware import Machine
from gpupool.joining import host_key, written
from gpupool.joining.decide import Choice, Wish, choose
from gpupool.joining.request import nodes_of, replaced_of
from gpupool.joining.steps import Commands, known_hosts, port, probe, reached_at
from gpupool.remote.controller import reach
from gpupool.run.door import Door
from gpupool.target import Target, find_target
from gpupool.terminal import Screen
from gpupool.upkeep.reserve import reservation
from gpupool.upkeep.state import states

WORK = "onboarding"
RESERVATION = f"gpupool_{WORK}"

#: Which of the host keys that new machines show are theirs: name -> fingerprints; the agreed ones come back.
Agree = Callable[[Mapping[str, Sequence[str]]], Collection[str]]


@dataclass(frozen=True)
class Prepared:
    """An onboarding that may begin: the inventory as it would be, and what each machine is and has."""

    door: Door
    draft: Draft
    machines: Mapping[str, Machine]
    choices: Mapping[str, Choice]
    replace: bool
    network: int | None = None
    commands: Commands = field(default_factory=Commands)

    @property
    def target(self) -> Target:
        """The target without the new nodes."""
        return self.door.target


def prepare(
    inventory: Path, on: str, asked: Sequence[str], wish: Wish, *, replace: bool, agree: Agree, screen: Screen
) -> Prepared:
    """Look at the machines and compare them with what is declared; GpupoolError with all that speaks against one."""
    finish(inventory)
    target = find_target(inventory, on)
    site = written.inventory_of(inventory)
    known = written.addresses_of(inventory)
    addresses = replaced_of(asked, known) if replace else nodes_of(asked)
    _ensure_new(target, addresses, known, replace=replace)
    door = Door(target, "onboard", screen)
    own = site.cluster.network
    reached = {name: reached_at(target, own, address) for name, address in addresses.items()}
    commands = Commands()
    with _pinned(target, reached, replace=replace, agree=agree):
        machines = probe(door, reached, commands)
        choices = _chosen(machines, wish, site, target, replace=replace, inventory=inventory)
        wrong = [f"{name}: {why}" for name, choice in choices.items() for why in choice.wrong]
        if wrong:
            raise GpupoolError("\n".join([*wrong, "nothing was changed"]))
        write = written.renewed if replace else written.joined
        fresh = {name: address for name, address in addresses.items() if replace or name not in known}
        made = write(inventory, fresh, {name: choices[name] for name in fresh}) if fresh else draft(inventory)
    return Prepared(door, made, machines, choices, replace, wish.network, commands)


def _ensure_new(
    target: Target, addresses: Mapping[str, str], known: Mapping[str, str | None], *, replace: bool
) -> None:
    """Refuse nodes that are in the inventory, unless an onboarding of theirs was cut short, or they are replaced."""
    nodes = [target.cluster.nodes[name] for name in addresses if name in target.cluster.nodes]
    if replace:
        if others := [node.name for node in nodes if not node.has("compute") or len(node.roles) > 1]:
            raise UsageError(f"{', '.join(others)}: only nodes whose only role is compute can be replaced")
        return
    listed = [name for name in addresses if name in known]
    if not listed:
        return
    with reach(target) as controller:
        now, held = states(controller, nodes), reservation(controller, RESERVATION)
    unfinished = {
        node.name
        for node in nodes
        if (node.name in now and now[node.name].is_ours(WORK)) or (held and node.slurm_name in held.nodes)
    }
    for name in listed:
        if name not in unfinished or known[name] != addresses[name]:
            raise UsageError(
                f"{name} is already in the inventory, with address {known[name]} (use --replace for new hardware)"
            )


@contextmanager
def _pinned(target: Target, reached: Mapping[str, str], *, replace: bool, agree: Agree) -> Iterator[None]:
    """Have the machines' host keys pinned, after a person has agreed; as before where the machines are refused."""
    file, number = known_hosts(target), port(target)
    before = {name: host_key.pinned(file, address, number) for name, address in reached.items()}
    shows = {name: host_key.scan(address, number) for name, address in reached.items()}
    strange = {name: keys for name, keys in shows.items() if not {*keys} & {*before[name]}}
    if other := [name for name in strange if before[name] and not replace]:
        raise GpupoolError(
            f"{', '.join(other)}: the host key is not the one in {file} (remove that if the machine is another one: "
            f"ssh-keygen -f {file} -R {reached[other[0]]})"
        )
    prints = {name: {host_key.fingerprint(key): key for key in keys} for name, keys in strange.items()}
    agreed = agree({name: [*its] for name, its in prints.items()}) if strange else ()
    # each key was read by a connection of its own: one that is right says nothing of another one
    kept = {name: [key for it, key in its.items() if it in agreed] for name, its in prints.items()}
    if refused := [name for name, keys in kept.items() if not keys]:
        raise GpupoolError(f"{', '.join(refused)}: the host key was not accepted; nothing was changed")
    for name, keys in kept.items():
        host_key.pin(file, reached[name], number, keys)
    try:
        yield
    except GpupoolError:
        for name in strange:
            host_key.pin(file, reached[name], number, before[name])
        raise


def _chosen(
    machines: Mapping[str, Machine], wish: Wish, site: Inventory, target: Target, *, replace: bool, inventory: Path
) -> dict[str, Choice]:
    choices: dict[str, Choice] = {}
    declared = written.entries_of(inventory) if replace else {}
    for name, machine in machines.items():
        entry = declared.get(name)
        own = wish
        if entry is not None:
            own = Wish(wish.hardware or entry.hardware, wish.gpus if wish.gpus is not None else entry.gpus)
        choices[name] = choose(machine, own, site, target.cluster)
    return choices
