"""Check the site's topology.conf: its nodes exist, and slurm.conf sets the plugin that reads it."""

import re
from collections.abc import Iterator

from gpupool.cluster.attachments import SLURM
from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.slurm_files import lines
from gpupool.slurm.hostlists import expanded

_FILE = f"{SLURM}/topology.conf"
_PLUGINS = ("topology/tree", "topology/block")
_NODES = re.compile(r"\bNodes=(\S+)", re.IGNORECASE)


def ensure_the_topology_is_of_these_nodes(site: Site) -> Iterator[Complaint]:
    """topology.conf and the plugin that reads it are set together, and the file names compute nodes only."""
    here, parameters = ("slurm", "parameters"), site.inventory.slurm.parameters.items()
    plugin = next((value for key, value in parameters if key.lower() == "topologyplugin"), "")
    text = site.attached.get(_FILE)
    if text is not None and plugin not in _PLUGINS:
        yield Complaint(here, f"{_FILE} has no effect", f"set TopologyPlugin: {' or '.join(_PLUGINS)}")
    if text is None and plugin in _PLUGINS:
        yield Complaint(here, f"{plugin} needs a topology.conf", f"write {_FILE} beside the inventory")
    known = {node.name for node in site.node_table.nodes if "compute" in node.entry.roles}
    for number, line in lines(text or ""):
        for names in _NODES.findall(line):
            for stranger in sorted(_named(names) - known)[:1]:
                yield Complaint(here, f"{_FILE}:{number}: {stranger!r} is not a compute node")


def _named(text: str) -> set[str]:
    return set() if text.upper() == "ALL" else {name.partition(".")[0] for name in expanded(text)}
