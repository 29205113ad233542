"""Small programs of ours for the people of a cluster."""

import shlex

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.schema.software import Tool
from gpupool.compile.template import fill
from gpupool.wanted import File

# by the tool's name; the inventory may name others, which are not made yet
_PATHS = {"sbash": "/usr/local/bin/sbash"}


def files(cluster: Cluster, node: Node) -> tuple[File, ...]:
    """Return the programs that a node has."""
    return tuple(
        File(_PATHS[tool.name], sbash(cluster, tool), mode="0755")
        for tool in cluster.tools
        if tool.name in _PATHS and node.name in cluster.select(tool.where)
    )


def sbash(cluster: Cluster, tool: Tool) -> str:
    """Return the shell script; options of the tool: gpus, gpu (type), cpus (for each GPU), partition."""
    options = {key: shlex.quote(str(tool.options[key])) if key in tool.options else "" for key in ("gpu", "partition")}
    return fill(
        "sbash",
        cluster=cluster,
        types=list(cluster.gpu_types),
        gpus=tool.options.get("gpus", 1),
        cpus=tool.options.get("cpus", 1),
        **options,
    )
