"""gpupool's commands for the users of a cluster."""

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpupool.cluster import attachments
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.tools import Tool
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.limits import squeue_memory
from gpupool.compile.system import manual
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

BIN = "/usr/local/bin"
SETTINGS = "/etc/gpupool/gpu_usage.json"
ALIASES = "/etc/profile.d/gpupool-slurm-aliases.sh"
EXAMPLES = "/usr/local/share/gpupool/examples"
#: The socket at which users of a node ask for the queue, and the directory of the answer.
SOCKET, ANSWER = "/run/gpupool-queue.sock", "/run/gpupool-queue"
SOCKET_UNIT, SERVICE_UNIT = f"{UNITS}/gpupool-queue.socket", f"{UNITS}/gpupool-queue.service"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the programs of a node, with their man pages; of a tool that is listed twice, the last one counts."""
    here = {tool.name: tool for tool in cluster.tools if node.name in cluster.select(tool.where)}
    for name, tool in here.items():
        if name in MAKERS:
            yield from MAKERS[name](cluster, tool)
    if cluster.scheduler.sacct_fields and node.has("head", "compute"):
        text = fill("sacct", cluster=cluster, fields=cluster.scheduler.sacct_fields)
        yield File(f"{BIN}/sacct", text, mode="0755")
    for name in cluster.examples if node.has("head") else ():
        yield File(f"{EXAMPLES}/{name}", cluster.attached.get(f"{attachments.EXAMPLES}/{name}") or job(cluster))


def sbash(cluster: Cluster, tool: Tool) -> str:
    """Return the shell script; options of the tool: gpus, gpu (type), cpus (for each GPU), partition."""
    options = {key: shlex.quote(str(tool.options[key])) if key in tool.options else "" for key in ("gpu", "partition")}
    gpus, cpus = tool.options.get("gpus", 1), tool.options.get("cpus", 1)
    defaults = {
        "-g, --gpu TYPE": f": {', '.join(cluster.gpu_types)} ({options['gpu'] or 'any'})",
        "-G, --gpus N": f" ({gpus})",
        "-c, --cpus N": f" ({cpus} for each GPU)",
        "-p, --partition NAME": f" ({options['partition'] or 'the default of the cluster'})",
    }
    rows = tuple((left, text + defaults.get(left, "")) for left, text in manual.SBASH.options)
    help_text = manual.shown(replace(manual.SBASH, options=rows, examples=()))
    return fill(
        "sbash", cluster=cluster, types=list(cluster.gpu_types), gpus=gpus, cpus=cpus, help=help_text, **options
    )


def settings(cluster: Cluster) -> dict[str, Any]:
    """Return the content of gpu_usage.json, which all users may read: without anything that Slurm hides from them."""
    hidden = set(cluster.scheduler.private_data)
    accounts = {} if hidden & {"accounts", "all"} else cluster.accounts
    compute = () if hidden & {"nodes", "all"} else cluster.having("compute")
    types = {name: sum(node.gpus.get(name, 0) for node in compute) for name in cluster.gpu_types}
    return {
        "about": f"Written by gpupool from the inventory of {cluster.name}; "
        "changes made here are undone by the next apply.",
        "folder": ANSWER,
        "socket": SOCKET,
        "private": cluster.scheduler.hides_jobs,
        "caps": {name: cluster.owned_gpus(account) for name, account in accounts.items()},
        "parents": {name: account.parent for name, account in accounts.items() if account.parent != "root"},
        "lending": [
            name
            for name, account in accounts.items()
            if account.entry.kind == "shared" and account.limits.group.gpu is None
        ],
        "partitions": [] if hidden & {"partitions", "all"} else list(cluster.partitions),
        "types": {name: count for name, count in types.items() if count},
    }


def shares_queue(cluster: Cluster, node: Node) -> bool:
    """Return whether a node has the service with which its users share squeue's answers."""
    wanted = any(tool.name == "gpu_usage" and node.name in cluster.select(tool.where) for tool in cluster.tools)
    return wanted and not cluster.scheduler.hides_jobs


def job(cluster: Cluster) -> str:
    """Return the example of a batch job, which runs without changes."""
    names = list(cluster.partitions)
    default = cluster.scheduler.default_partition
    typed = cluster.scheduler.untyped_gpus == "refuse"
    kinds = list(cluster.gpu_types)
    each = cluster.scheduler.warn_cpus_per_gpu
    return fill(
        "job.sh",
        partition=default if default in names else names[0] if default == "none" else "",
        cpus=each.get("default", 1) if kinds else 1,
        gpus=(f"{kinds[0]}:1" if typed else "1") if kinds else "",
    )


def _gpu_usage(cluster: Cluster, _: Tool) -> Iterator[File]:
    yield from program("gpu_usage")
    yield File(SETTINGS, json.dumps(settings(cluster), indent=1) + "\n")
    yield File(f"{BIN}/gpu_usage", fill("gpu_usage", home=HOME, settings=SETTINGS), mode="0755")
    yield _page(manual.GPU_USAGE)
    if not cluster.scheduler.hides_jobs:
        memory = squeue_memory(cluster)
        yield File(SOCKET_UNIT, fill("queue.socket", cluster=cluster, socket=SOCKET))
        yield File(SERVICE_UNIT, fill("queue.service", cluster=cluster, home=HOME, memory=memory))


def _sbash(cluster: Cluster, tool: Tool) -> Iterator[File]:
    yield File(f"{BIN}/sbash", sbash(cluster, tool), mode="0755")
    yield _page(manual.SBASH)


def _script(page: manual.Page) -> Callable[[Cluster, Tool], Iterator[File]]:
    """Return the function that yields a script of ours, which is the same on all clusters."""

    def made(_: Cluster, __: Tool) -> Iterator[File]:
        yield File(f"{BIN}/{page.name}", fill(page.name, help=manual.shown(page)), mode="0755")
        yield _page(page)

    return made


def _aliases(_: Cluster, __: Tool) -> Iterator[File]:
    yield File(ALIASES, fill("slurm-aliases.sh", aliases=manual.ALIASES, path=ALIASES))
    yield _page(manual.ALIASES_PAGE)


def _page(page: manual.Page) -> File:
    return File(page.path, manual.roff(page))


#: By the tool's name. The wiki belongs to the web server.
MAKERS: dict[str, Callable[[Cluster, Tool], Iterator[File]]] = {
    "gpu_usage": _gpu_usage,
    "sbash": _sbash,
    "getUtilByJobId.sh": _script(manual.UTILIZATION),
    "vscode-launch.sh": _script(manual.VSCODE),
    "slurm-aliases": _aliases,
}
