"""Check the tools and example jobs that gpupool installs."""

from collections.abc import Iterator

from gpupool.cluster.attachments import EXAMPLES
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.site import Site

_OF_SBASH = ("gpu", "gpus", "cpus", "partition")
_TOOLS = ("gpu_usage", "sbash", "getUtilByJobId.sh", "vscode-launch.sh", "slurm-aliases", "wiki")


def ensure_tools_exist(site: Site) -> Iterator[Complaint]:
    """Each tool is one of gpupool's, and only sbash has options."""
    for index, tool in enumerate(site.inventory.tools):
        if tool.name not in _TOOLS:
            near = misspelt(tool.name, _TOOLS)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(_TOOLS)}"
            yield Complaint(("tools", index, "name"), f"there is no tool {tool.name!r}", hint)
        elif tool.options and tool.name != "sbash":
            yield Complaint(("tools", index, "options"), f"{tool.name} has no options", "remove them")


def ensure_sbash_can_use_its_options(site: Site) -> Iterator[Complaint]:
    """The options of sbash are numbers of GPUs and CPUs, and a GPU type and partitions that exist."""
    inventory = site.inventory
    partitions = {name for _, entry in site.partitions() for name, _ in site.partition_names(entry)}
    for index, tool in enumerate(inventory.tools):
        for key, value in tool.options.items() if tool.name == "sbash" else ():
            path: Path = ("tools", index, "options", key)
            if key not in _OF_SBASH:
                near = misspelt(key, _OF_SBASH)
                yield Complaint(path, "is not an option of sbash", f"did you mean {near[0]}?" if near else None)
            elif key in ("gpus", "cpus"):
                if not isinstance(value, int):
                    yield Complaint(path, f"must be a number, not {value!r}")
                elif key == "cpus" and not value:
                    yield Complaint(path, "a shell needs at least one CPU", "at least 1")
            elif key == "gpu" and value not in inventory.gpu_types:
                yield Complaint(path, f"there is no GPU type {value!r}")
            elif key == "partition" and (unknown := [p for p in str(value).split(",") if p not in partitions]):
                yield Complaint(path, f"there is no partition {unknown[0]!r}")


def ensure_the_wiki_is_on_web_nodes(site: Site) -> Iterator[Complaint]:
    """The wiki is on nodes with the role web only: no other node serves its pages."""
    web = {node.name for node in site.node_table.nodes if "web" in node.entry.roles}
    for index, tool in enumerate(site.inventory.tools):
        others = sorted(site.nodes_of(tool.where) - web) if tool.name == "wiki" else []
        if others:
            message = f"{others[0]} serves no pages: it does not have the role web"
            yield Complaint(("tools", index, "where"), message, "use @web")


def ensure_examples_exist(site: Site) -> Iterator[Complaint]:
    """An example is one of gpupool's, or a file of the inventory."""
    for index, name in enumerate(site.inventory.examples):
        if name != "job.sh" and f"{EXAMPLES}/{name}" not in site.attached:
            yield Complaint(("examples", index), f"there is no file {EXAMPLES}/{name} in the inventory", "create it")
