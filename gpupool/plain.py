"""The inventory for plain pyinfra: the groups of a file `inventory.py`."""

import os
from pathlib import Path
from typing import Any

from pyinfra.api.exceptions import InventoryError

from gpupool.errors import GpupoolError
from gpupool.target import find_target


def groups_of(inventory: Path) -> dict[str, list[tuple[str, dict[str, Any]]] | list[str]]:
    """Return pyinfra's groups of an inventory: `nodes` with the data of each host, then roles and GPU types.

    Hosts are `@pool/NAME`. The variable GPUPOOL_ON replaces the option `--on`. A role hides a GPU type of the same
    name. pyinfra's InventoryError, without a traceback, if the inventory has errors or the target does not exist.
    """
    try:
        target = find_target(inventory, os.environ.get("GPUPOOL_ON", "auto"))
    except GpupoolError as error:
        raise InventoryError(str(error)) from None
    names = {node.name: f"@pool/{node.name}" for node in target.nodes}
    by_gpu: dict[str, list[str]] = {}
    by_role: dict[str, list[str]] = {}
    for node in target.nodes:
        for gpu in node.all_gpus:
            by_gpu.setdefault(gpu, []).append(names[node.name])
        for role in node.roles:
            by_role.setdefault(role, []).append(names[node.name])
    # first, because the order of all hosts is that of the first group
    nodes = [(names[host.name], dict(host.data)) for host in target.hosts]
    return {"nodes": nodes, **by_gpu, **by_role}
