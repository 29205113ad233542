"""Environment modules: a file for each module, all of them below one directory, and where Lmod finds it."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.schema.modules import Module
from gpupool.compile import lua
from gpupool.compile.template import fill
from gpupool.wanted import File

MODULES = "/usr/local/share/gpupool/modules"
PROFILE = "/etc/profile.d/gpupool-modules.sh"


def modules_for(cluster: Cluster, node: Node) -> tuple[Module, ...] | None:
    """Return the modules of a node; None where it has no Lmod."""
    modules = cluster.software.modules
    if not modules or not modules.enabled or node.name not in cluster.select(modules.where):
        return None
    return modules.list


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the module files, and what login shells read."""
    modules, own = cluster.software.modules, modules_for(cluster, node)
    if modules is None or own is None:
        return
    # lmod.sh puts them first one after the other: the last one wins
    paths = ":".join((*reversed(modules.paths), MODULES))
    yield File(PROFILE, fill("modules.sh", cluster=cluster, paths=paths))
    for module in own:
        yield File(f"{MODULES}/{module.name}.lua", module_file(cluster, module))


def module_file(cluster: Cluster, module: Module) -> str:
    """Return a module file as Lmod reads it."""
    prefix = module.prefix or ""
    prepend = [(name, _absolute(prefix, path)) for name, paths in module.prepend.items() for path in reversed(paths)]
    values = {name: value.replace("{prefix}", prefix) for name, value in module.set.items()}
    return fill("module.lua", cluster=cluster, module=module, prepend=prepend, values=values, lua=lua.literal)


def _absolute(prefix: str, path: str) -> str:
    if path.startswith("/"):
        return path
    return prefix if path == "." else f"{prefix}/{path}"
