"""Hardware that nodes describe themselves: each becomes an entry of `hardware`, where all readers look for it.

The name of such an entry is the path of the first of its nodes, `nodes[3]`, or `big (nodes[3])` if the nodes have keys
besides the entry `big`. Neither can be a name in an inventory.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpupool.cluster.complaints import Path
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import COUNT_CPUS, Hardware, NodeEntry, logical_cpus

#: The keys of `hardware` that a node may have, besides `distribution` and `parameters`, which are read there.
KEYS = tuple(
    key
    for key in Hardware.model_fields
    if key in NodeEntry.model_fields and key not in ("src", "inferred", "distribution", "parameters")
)
_NAME = re.compile(r"(?:(.+) \()?nodes\[([0-9]+)\]\)?")


def is_own(name: str | None) -> bool:
    """Return whether an entry of `hardware` with this name is made of keys of nodes."""
    return name is not None and _NAME.fullmatch(name) is not None


def base_of(name: str | None) -> str | None:
    """Return the entry of `hardware` as written to which nodes add keys; None if they have no entry."""
    found = _NAME.fullmatch(name or "")
    return found[1] if found else name


def keys_of(node: NodeEntry) -> dict[str, Any]:
    """Return the keys of hardware that a node has itself, with their values."""
    return {key: value for key in KEYS if key in node.model_fields_set and (value := getattr(node, key)) is not None}


def counts_itself(node: NodeEntry) -> bool:
    """Return whether a node has its own number of CPUs, so that it needs no entry of `hardware`."""
    return any(getattr(node, key) is not None for key in COUNT_CPUS)


def with_own_hardware(inventory: Inventory) -> Inventory:
    """Return the inventory with an entry of `hardware` for each node that has keys of it; equal nodes share an entry.

    A node whose entry is not known, or that has neither an entry nor CPUs, stays as it is: a check complains about it.
    """
    made: dict[str, Hardware] = {}
    names: dict[str, str] = {}
    nodes = list(inventory.nodes)
    for index, node in enumerate(nodes):
        keys = keys_of(node)
        base = inventory.hardware.get(node.hardware or "")
        if not keys or (base is None and (node.hardware or not counts_itself(node))):
            continue
        name = names.setdefault(repr((node.hardware, keys)), _named(node.hardware, index))
        if name not in made:
            made[name] = _merged(base, keys)
        nodes[index] = node.model_copy(update={"hardware": name})
    if not made:
        return inventory
    return inventory.model_copy(update={"nodes": tuple(nodes), "hardware": {**inventory.hardware, **made}})


def _named(base: str | None, index: int) -> str:
    return f"{base} (nodes[{index}])" if base else f"nodes[{index}]"


def _merged(base: Hardware | None, keys: Mapping[str, Any]) -> Hardware:
    if "memory" in keys:  # the measured memory of the base is that of other machines
        keys = {"real_memory": None, **keys}
    merged = base.model_copy(update={**keys}) if base else Hardware.model_construct(**keys)
    if "cpus" in keys or merged.cores is None or not keys.keys() & {"sockets", "cores", "threads"}:
        return merged
    return merged.model_copy(update={"cpus": logical_cpus(merged.sockets, merged.cores, merged.threads)})


def as_written(inventory: Inventory, path: Path) -> Path:
    """Return the path in the file of a path in an entry of `with_own_hardware`: in the node's, or in the base's entry.

    Other paths stay as they are.
    """
    if path[:1] != ("hardware",) or len(path) < 2 or not (found := _NAME.fullmatch(str(path[1]))):
        return path
    base, index = found[1], int(found[2])
    if base and path[2:] and path[2] not in keys_of(inventory.nodes[index]):
        return ("hardware", base, *path[2:])
    return ("nodes", index, *path[2:])
