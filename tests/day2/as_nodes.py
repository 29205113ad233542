"""The command line, with the nodes of a testbed reached like real nodes, by `access.admin` and ~/.ssh/config.

Slurm's packages are those of the inventory, too: a testbed has the distribution's.
"""

from dataclasses import replace
from typing import Any

import gpupool.target
from gpupool.cluster.load import load
from gpupool.target import Target

_find_target = gpupool.target.find_target


def _as_nodes(*arguments: Any, **named: Any) -> Target:
    target = _find_target(*arguments, **named)
    assert target.inventory
    written = load(target.inventory).slurm
    slurm = target.cluster.slurm.model_copy(update={"packages": written.packages, "repository": written.repository})
    return replace(target, testbed=None, ssh={}, cluster=replace(target.cluster, slurm=slurm))


gpupool.target.find_target = _as_nodes

from gpupool.cli import main  # noqa: E402  # commands take the function above

main()
