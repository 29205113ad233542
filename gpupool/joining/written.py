"""The inventory with nodes more or less, as a draft: checked as a whole, and nothing else in it changes its meaning."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.edit import nodes as text
from gpupool.cluster.edit.files import Draft, draft
from gpupool.cluster.edit.ranges import fold
from gpupool.cluster.edit.tree import tree
from gpupool.cluster.load import Loaded, examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.node_table import expand_all
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import NodeEntry
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read
from gpupool.errors import GpupoolError
from gpupool.joining.decide import Choice


def joined(inventory: Path, addresses: Mapping[str, str], choices: Mapping[str, Choice]) -> Draft:
    """Return the inventory with entries for new nodes; those that are the same but for name and address share one."""
    made = draft(inventory)
    before = _loaded(inventory)
    for entry in _entries(addresses, choices):
        made.edit("nodes", partial(text.with_node, entry=entry))
    for choice in choices.values():
        _with_hardware(made, choice)
    _with_totals(made, before)
    _ensure_only(made, before, set(addresses))
    return made


def left(inventory: Path, names: Sequence[str]) -> Draft:
    """Return the inventory without nodes: without their entries, and without their names in lists of nodes."""
    made = draft(inventory)
    before = _loaded(inventory)
    for name in names:
        made.edit_all(partial(text.without_mentions, name=name))
        made.edit("nodes", partial(text.without_node, name=name))
    _with_totals(made, before)
    _ensure_only(made, before, set(names))
    return made


def renewed(inventory: Path, addresses: Mapping[str, str], choices: Mapping[str, Choice]) -> Draft:
    """Return the inventory with other hardware, GPUs or addresses of nodes that it has; the same where nothing differs.

    An entry that changes is written anew at the end; what else it says is kept.
    """
    made = draft(inventory)
    before = _loaded(inventory)
    assert before.site
    table = before.site.node_table.by_name
    as_written = read(inventory).data["nodes"]
    for name, choice in choices.items():
        entry = table[name].entry
        if (entry.hardware, entry.gpus, table[name].address) == (choice.hardware, choice.gpus, addresses[name]):
            continue
        old = as_written[table[name].path[1]]
        new = {**old, "name": name, "address": addresses[name], "hardware": choice.hardware}
        new = {**new, "gpus": choice.gpus} if choice.gpus else {key: it for key, it in new.items() if key != "gpus"}
        made.edit("nodes", partial(text.without_node, name=name))
        made.edit("nodes", partial(text.with_node, entry=new))
        _with_hardware(made, choice)
    _with_totals(made, before)
    _ensure_only(made, before, set(addresses))
    return made


def cluster_of(made: Draft) -> Cluster:
    """Return the Cluster of a draft; BadInventoryError with every error of it."""
    loaded = made.examined()
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    return loaded.cluster


def inventory_of(inventory: Path) -> Inventory:
    """Return what an inventory says, before it is made a Cluster; BadInventoryError with every error of it."""
    site = _loaded(inventory).site
    assert site
    return site.inventory


def entries_of(inventory: Path) -> dict[str, NodeEntry]:
    """Return the entry of each node, by name; several nodes may share one."""
    site = _loaded(inventory).site
    assert site
    return {node.name: node.entry for node in site.node_table.nodes}


def addresses_of(inventory: Path) -> dict[str, str | None]:
    """Return the nodes of an inventory with their addresses as they are written."""
    site = _loaded(inventory).site
    assert site
    return {node.name: node.address for node in site.node_table.nodes}


def _entries(addresses: Mapping[str, str], choices: Mapping[str, Choice]) -> list[dict[str, Any]]:
    alike: dict[str, list[str]] = {}
    for name, choice in choices.items():
        alike.setdefault(repr((choice.hardware, choice.gpus)), []).append(name)
    return [
        {
            "name": fold(names),
            "address": fold([addresses[name] for name in names]),
            "roles": ["compute"],
            "hardware": choices[names[0]].hardware,
            **({"gpus": choices[names[0]].gpus} if choices[names[0]].gpus else {}),
        }
        for names in alike.values()
    ]


def _with_hardware(made: Draft, choice: Choice) -> None:
    name = choice.hardware or ""
    if choice.new and not any((root := tree(it)) and root.get("hardware", name) for it in made.now.values()):
        made.edit("hardware", partial(text.with_key, section="hardware", key=name, value=choice.new))


def _loaded(inventory: Path) -> Loaded:
    loaded = examine(inventory)
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    return loaded


def _with_totals(made: Draft, before: Loaded) -> None:
    """Have cluster.totals, where they are said, count what there is now."""
    assert before.site
    totals = before.site.inventory.cluster.totals
    if totals is None:
        return
    shape, _ = validated(read(made.inventory, made.changed).data)
    if shape is None:
        return
    compute = [node.entry for node in expand_all(shape)[0].nodes if "compute" in node.entry.roles]
    sums = {
        "gpus": sum(sum(entry.gpus.values()) for entry in compute),
        "cpus": sum(shape.hardware[it.hardware].cpus for it in compute if it.hardware in shape.hardware),
    }
    for key, number in sums.items():
        if getattr(totals, key) not in (None, number):
            made.edit("cluster", partial(text.with_value, path=("cluster", "totals", key), word=str(number)))


def _ensure_only(made: Draft, before: Loaded, names: set[str]) -> None:
    """Refuse a draft in which another node than these is not what it was: the text was not understood."""
    assert before.cluster
    after = cluster_of(made)
    old = {name: node for name, node in before.cluster.nodes.items() if name not in names}
    new = {name: node for name, node in after.nodes.items() if name not in names}
    if old != new:
        raise GpupoolError(f"{made.inventory}: cannot edit this entry (edit it by hand)")
