"""Preparation of an onboarding before anything changes: host keys, hardware, and the future inventory."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from gpupool.cluster.edit.files import Draft
from gpupool.cluster.model import Cluster
from gpupool.errors import GpupoolError, UsageError
from gpupool.facts.hardware import Machine
from gpupool.joining import host_key, written
from gpupool.joining.compare import disk_path
from gpupool.joining.decide import Choice, MachineOptions, choose
from gpupool.joining.other_nodes import concerned
from gpupool.joining.request import further_of, nodes_of, replaced_of
from gpupool.joining.steps import Commands, probe, reached_at
from gpupool.joining.written import Original
from gpupool.remote.controller import Controller
from gpupool.remote.nodes import Nodes
from gpupool.run.runner import DeployRunner
from gpupool.target import Target, target_of
from gpupool.upkeep.reserve import reservation
from gpupool.upkeep.state import states

WORK = "onboarding"
RESERVATION = f"gpupool_{WORK}"


class Person(Protocol):
    """The admin, who knows the host keys of new machines."""

    def accepts(self, keys: Mapping[str, Sequence[str]]) -> Collection[str]:
        """Return the correct fingerprints among `keys` (fingerprints by node)."""


@dataclass(frozen=True)
class Prepared:
    """An onboarding that may begin: the inventory before and after, and each machine's hardware and choice.

    `others` are the existing nodes to apply now; `commands` counts the commands sent to nodes so far.
    """

    before: Target
    after: Target
    draft: Draft
    machines: Mapping[str, Machine]
    choices: Mapping[str, Choice]
    others: tuple[str, ...]
    replace: bool
    network: int | None = None
    commands: Commands = field(default_factory=Commands)


def prepare(
    controller: Controller,
    runner: DeployRunner,
    original: Original,
    asked: Sequence[str],
    options: MachineOptions,
    *,
    on: str,
    replace: bool,
    person: Person,
) -> Prepared:
    """Probe the machines and compare them with the inventory; GpupoolError with all reasons to refuse a machine.

    `original` is the inventory of the runner's target; `on` is as in `target_of`.
    """
    target, known = runner.target, original.addresses
    addresses = replaced_of(asked, known) if replace else nodes_of(asked)
    _ensure_new(controller, addresses, known, replace=replace)
    further = _further(original, list(addresses), options, replace=replace)
    reached = logins(target, original, addresses, further)
    commands = Commands()
    with _pinned(target, reached, replace=replace, person=person):
        machines = probe(runner, reached, commands, disk_path(original.site.inventory))
        choices = _chosen(machines, options, original, target.cluster, replace=replace)
        wrong = [f"{name}: {why}" for name, choice in choices.items() for why in choice.wrong]
        if wrong:
            raise GpupoolError("\n".join([*wrong, "nothing was changed"]))
        fresh = {name: address for name, address in addresses.items() if replace or name not in known}
        new = {name: choices[name] for name in fresh}
        made = written.renewed(original, fresh, new) if replace else written.with_nodes(original, fresh, new, further)
        after = target_of(made.cluster, original.inventory, on)
        if missing := {*choices} - {node.name for node in after.nodes}:
            names = ", ".join(sorted(missing))
            raise GpupoolError(f"{names}: testbed.nodes does not select it (correct the inventory)")
    others = concerned(target.cluster, after.cluster)
    return Prepared(target, after, made.draft, machines, choices, others, replace, options.network, commands)


def _further(
    original: Original, names: Sequence[str], options: MachineOptions, *, replace: bool
) -> Mapping[str, Mapping[str, str]]:
    """Return the addresses in further networks: those of the command line, or the inventory's of a node to replace."""
    if not replace:
        return further_of(options.addresses, names)
    if options.addresses:
        raise UsageError("--address is for new nodes: change `addresses` in the inventory, and apply, before --replace")
    return {name: original.site.node_table.by_name[name].addresses for name in names}


def logins(
    target: Target, original: Original, addresses: Mapping[str, str], further: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return where machines are logged in to, by node; a testbed has no further networks."""
    shape = original.site.inventory
    chosen = shape.access.admin.network if target.testbed is None else None
    return {
        name: further[name].get(chosen or "") or reached_at(target, shape.cluster.network, address)
        for name, address in addresses.items()
    }


def _ensure_new(
    controller: Controller, addresses: Mapping[str, str], known: Mapping[str, str | None], *, replace: bool
) -> None:
    """Raise UsageError for nodes in the inventory, unless their onboarding was interrupted or they are replaced."""
    cluster = controller.target.cluster
    nodes = [cluster.nodes[name] for name in addresses if name in cluster.nodes]
    if replace:
        if others := [node.name for node in nodes if not node.has("compute") or len(node.roles) > 1]:
            raise UsageError(f"{', '.join(others)}: only nodes whose only role is compute can be replaced")
        return
    listed = [name for name in addresses if name in known]
    if not listed:
        return
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
def _pinned(target: Target, reached: Mapping[str, str], *, replace: bool, person: Person) -> Iterator[None]:
    """Pin the host keys of machines after the admin has agreed; restore the former keys if the machines are refused."""
    with Nodes.of(target, reached) as nodes:
        pins = {name: host_key.pins_of(nodes, name) for name in reached}
        shows = {name: host_key.scan(nodes, name) for name in reached}
    before = {name: host_key.pinned(pins[name]) for name in reached}
    strange = {name: keys for name, keys in shows.items() if not {*keys} & {*before[name]}}
    if other := [name for name in strange if before[name] and not replace]:
        raise GpupoolError(
            f"{', '.join(other)}: the host key is not the one in {pins[other[0]].file} (if it is another machine, "
            f"remove the old key: ssh-keygen -f {pins[other[0]].file} -R '{pins[other[0]].names[-1]}')"
        )
    prints = {name: {host_key.fingerprint(key): key for key in keys} for name, keys in strange.items()}
    agreed = person.accepts({name: [*its] for name, its in prints.items()}) if strange else ()
    # each key was read over a separate connection, so one correct key does not prove the others
    kept = {name: [key for machine, key in its.items() if machine in agreed] for name, its in prints.items()}
    if refused := [name for name, keys in kept.items() if not keys]:
        raise GpupoolError(f"{', '.join(refused)}: the host key was not accepted; nothing was changed")
    for name, keys in kept.items():
        host_key.pin(pins[name], keys)
    try:
        yield
    except GpupoolError:
        for name in strange:
            host_key.pin(pins[name], before[name])
        raise


def _chosen(
    machines: Mapping[str, Machine], options: MachineOptions, original: Original, cluster: Cluster, *, replace: bool
) -> dict[str, Choice]:
    if out := [name for name in machines if replace and original.cluster.nodes[name].drained_for is not None]:
        raise UsageError(
            f"{', '.join(out)}: out of service in the inventory (remove the entry of out_of_service first)"
        )
    choices: dict[str, Choice] = {}
    declared = original.entries if replace else {}
    for name, machine in machines.items():
        entry = declared.get(name)
        wanted = options
        if entry is not None:
            node, given = original.cluster.nodes[name], options.gpus
            wanted = MachineOptions(
                options.hardware or entry.hardware,
                given if given is not None else entry.gpus,
                in_service=node.gpus if given is None and node.installed else None,
            )
        choices[name] = choose(machine, wanted, original.site.inventory, cluster)
    return choices
