"""The nodes of a Cluster as pyinfra's hosts."""

import os
from pathlib import Path
from typing import Any

from gpupool.engine.report import Target
from gpupool.reach import Reach, reach


def targets(to: Reach) -> list[Target]:
    """Return a host for each node to log in to; its groups are its roles."""
    return [Target(node.name, node.roles, to.data(node)) for node in to.nodes]


def for_pyinfra(inventory: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the same as plain pyinfra's inventory files hold it; GPUPOOL_ON is the command line's `--on`."""
    to = reach(inventory, os.environ.get("GPUPOOL_ON", "auto"))
    return [(f"@pool/{target.name}", dict(target.data)) for target in targets(to)]
