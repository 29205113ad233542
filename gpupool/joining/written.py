"""The inventory with nodes added or removed; it is checked as a whole, and other nodes stay unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.edit import nodes as text
from gpupool.cluster.edit.files import Draft, draft, finish
from gpupool.cluster.edit.tree import tree
from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.own_hardware import KEYS, base_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.machines import NodeEntry
from gpupool.errors import GpupoolError
from gpupool.joining.decide import Choice
from gpupool.slurm.hostlists import fold


@dataclass(frozen=True)
class Original:
    """An inventory before an edit, loaded once for the whole command."""

    inventory: Path
    cluster: Cluster
    site: Site
    data: Mapping[str, Any]

    @property
    def addresses(self) -> dict[str, str | None]:
        """Return the addresses of all nodes, as the inventory has them."""
        return {node.name: node.address for node in self.site.node_table.nodes}

    @property
    def entries(self) -> dict[str, NodeEntry]:
        """Return the entry of each node; several nodes may share an entry."""
        return {node.name: node.entry for node in self.site.node_table.nodes}


@dataclass(frozen=True)
class Written:
    """An inventory after an edit: the texts, not yet written to files, and their Cluster."""

    draft: Draft
    cluster: Cluster


def read_original(inventory: Path) -> Original:
    """Finish the edit of a command that was killed, then load an inventory; BadInventoryError with every error."""
    finish(inventory)
    loaded = examine(inventory)
    if loaded.cluster is None or loaded.site is None:
        raise BadInventoryError(loaded.errors)
    return Original(inventory, loaded.cluster, loaded.site, loaded.data)


def with_nodes(
    original: Original,
    addresses: Mapping[str, str],
    choices: Mapping[str, Choice],
    further: Mapping[str, Mapping[str, str]] | None = None,
) -> Written:
    """Return the inventory with entries for new nodes; nodes that differ only in name and addresses share an entry.

    `further` are addresses in further networks, by node and network. Without nodes, the inventory stays unchanged.
    """
    made = draft(original.inventory)
    for entry in _entries(addresses, choices, further or {}):
        made.edit("nodes", partial(text.with_node, entry=entry))
    for choice in choices.values():
        _with_hardware(made, choice)
    return _written(made, original, choices)


def without_nodes(original: Original, names: Sequence[str]) -> Written:
    """Return the inventory without the entries of these nodes, and without their names in lists of nodes."""
    made = draft(original.inventory)
    for name in names:
        made.edit_all(partial(text.without_mentions, name=name))
        made.edit("nodes", partial(text.without_node, name=name))
    return _written(made, original, dict.fromkeys(names))


def renewed(original: Original, addresses: Mapping[str, str], choices: Mapping[str, Choice]) -> Written:
    """Return the inventory with new hardware, GPUs or addresses for existing nodes; unchanged if nothing differs.

    A changed entry is written at the end, with its other keys.
    """
    made = draft(original.inventory)
    table = original.site.node_table.by_name
    for name, choice in choices.items():
        entry = table[name].entry
        if (entry.hardware, entry.gpus, table[name].address) == (choice.hardware, choice.gpus, addresses[name]):
            continue
        old = original.data["nodes"][table[name].path[1]]
        new = {**_with_choice(old, entry, choice), "name": name, "address": addresses[name]}
        if table[name].addresses:
            new["addresses"] = dict(table[name].addresses)
        made.edit("nodes", partial(text.without_node, name=name))
        made.edit("nodes", partial(text.with_node, entry=new))
        _with_hardware(made, choice)
    return _written(made, original, choices)


def _with_choice(old: Mapping[str, Any], entry: NodeEntry, choice: Choice) -> dict[str, Any]:
    """Return the keys of an entry with a choice's hardware and GPUs; another hardware replaces the node's own keys."""
    replaced = {"gpus", "hardware"} | ({*KEYS} if choice.hardware != entry.hardware else set())
    kept = {key: value for key, value in old.items() if key not in replaced}
    hardware = base_of(choice.hardware)
    return kept | ({"hardware": hardware} if hardware else {}) | ({"gpus": choice.gpus} if choice.gpus else {})


def _entries(
    addresses: Mapping[str, str], choices: Mapping[str, Choice], further: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    alike: dict[str, list[str]] = {}
    for name, choice in choices.items():
        alike.setdefault(repr((choice.hardware, choice.gpus)), []).append(name)
    return [
        {
            "name": fold(names),
            "address": fold([addresses[name] for name in names]),
            **_further([further.get(name, {}) for name in names]),
            "roles": ["compute"],
            "hardware": choices[names[0]].hardware,
            **({"gpus": choices[names[0]].gpus} if choices[names[0]].gpus else {}),
        }
        for names in alike.values()
    ]


def _further(addresses: Sequence[Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the key `addresses` of nodes that share an entry, which all have addresses in the same networks."""
    folded = {network: fold([each[network] for each in addresses]) for network in addresses[0]}
    return {"addresses": folded} if folded else {}


def _with_hardware(made: Draft, choice: Choice) -> None:
    name = choice.hardware or ""
    if choice.new and not any((root := tree(text)) and root.get("hardware", name) for text in made.now.values()):
        made.edit("hardware", partial(text.with_key, section="hardware", key=name, value=choice.new))


def _written(made: Draft, original: Original, choices: Mapping[str, Choice | None]) -> Written:
    """Update the totals and load the changed text; GpupoolError if the edit has changed any other node.

    `choices` has None for a node that leaves.
    """
    if not made.changed:
        return Written(made, original.cluster)
    _with_totals(made, original, choices)
    loaded = made.examined()
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    old, new = (
        {name: node for name, node in cluster.nodes.items() if name not in choices}
        for cluster in (original.cluster, loaded.cluster)
    )
    if old != new:
        raise GpupoolError(f"{made.inventory}: cannot edit this entry (edit it by hand)")
    return Written(made, loaded.cluster)


def _with_totals(made: Draft, original: Original, choices: Mapping[str, Choice | None]) -> None:
    """Update cluster.totals, if the inventory has them."""
    shape = original.site.inventory
    totals = shape.cluster.totals
    if totals is None:
        return
    come = [choice for choice in choices.values() if choice]
    nodes = [(choice.hardware, choice.gpus) for choice in come] + [
        (entry.hardware, entry.gpus)
        for name, entry in original.entries.items()
        if name not in choices and "compute" in entry.roles
    ]
    cpus = {choice.hardware: int(choice.new["cpus"]) for choice in come if choice.new}
    cpus |= {name: hardware.cpus for name, hardware in shape.hardware.items()}
    sums = {
        "gpus": sum(sum(gpus.values()) for _, gpus in nodes),
        "cpus": sum(cpus.get(hardware, 0) for hardware, _ in nodes),
    }
    for key, number in sums.items():
        if getattr(totals, key) not in (None, number):
            made.edit("cluster", partial(text.with_value, path=("cluster", "totals", key), word=str(number)))
