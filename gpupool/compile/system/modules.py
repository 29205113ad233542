"""Environment modules: a file for each module, all below one directory, and the profile that adds it to Lmod's."""

from collections.abc import Iterator
from functools import cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.modules import Module
from gpupool.compile import lua
from gpupool.compile.template import TEMPLATES, fill
from gpupool.wanted import File

MODULES = "/usr/local/share/gpupool/modules"
PROFILE = "/etc/profile.d/gpupool-modules.sh"
_HEAD = "-- Written by gpupool from the inventory of {cluster}; changes made here are undone by the next apply.\n"


def modules_for(cluster: Cluster, node: Node) -> tuple[Module, ...] | None:
    """Return the modules of a node; None if it has no Lmod."""
    modules = cluster.software.modules
    if not modules or not modules.enabled or node.name not in cluster.select(modules.where):
        return None
    return modules.list


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the module files, and the profile of login shells."""
    modules, own = cluster.software.modules, modules_for(cluster, node)
    if modules is None or own is None:
        return
    # lmod.sh prepends the paths one by one, so the last one has priority.
    paths = ":".join((*reversed(modules.paths), MODULES))
    yield File(PROFILE, fill("modules.sh", cluster=cluster, paths=paths))
    for module in own:
        yield File(f"{MODULES}/{module.name}.lua", module_file(cluster, module))


def module_file(cluster: Cluster, module: Module) -> str:
    """Return a module file as Lmod reads it: a table with the inventory's data, then the Lua of all modules."""
    prefix = module.prefix or ""
    data = {
        "name": module.name,
        **({"about": module.about} if module.about else {}),
        "conflicts": module.conflicts,
        "needs": module.needs,
        # Of several paths that are prepended to a variable, the last one comes first in it.
        "prepend": [
            {"name": name, "path": _absolute(prefix, path)}
            for name, paths in module.prepend.items()
            for path in reversed(paths)
        ],
        "set": [{"name": name, "value": value.replace("{prefix}", prefix)} for name, value in module.set.items()],
    }
    table = "".join(f"  {name} = {lua.laid_out(value, len(name) + 5, '  ')},\n" for name, value in data.items())
    return f"{_HEAD.format(cluster=cluster.name)}local module = {{\n{table}}}\n\n{_static()}"


@cache
def _static() -> str:
    return (TEMPLATES / "module.lua").read_text(encoding="utf-8")


def _absolute(prefix: str, path: str) -> str:
    if path.startswith("/"):
        return path
    return prefix if path == "." else f"{prefix}/{path}"
