"""Check module files, the prefix of conda, and variables of logins."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import at, fixed
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.unix import within

#: Variables on whose values login shells rely; modules and conda add to PATH.
_THE_SHELLS = ("BASH_ENV", "ENV", "HOME", "IFS", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "USER")


def ensure_modules_can_be_loaded(site: Site) -> Iterator[Complaint]:
    """Each module has a unique name, a prefix if its directories are relative, and needs only modules that exist."""
    modules = site.inventory.software.modules
    names = [module.name for module in modules.list] if modules else []
    known = {*names, *(name.rpartition("/")[0] for name in names)}
    for index, module in enumerate(modules.list if modules else ()):
        path: Path = ("software", "modules", "list", index)
        if module.name in names[:index]:
            yield Complaint((*path, "name"), f"{module.name} is defined twice", "keep one")
        if any(other.startswith(f"{module.name}/") for other in names):
            yield Complaint((*path, "name"), f"{module.name} is the name of several versions, too", "give it a version")
        relative = [path for paths in module.prepend.values() for path in paths if not path.startswith("/")]
        if relative and not module.prefix:
            yield Complaint((*path, "prepend"), f"{relative[0]} is relative, and there is no prefix", "set `prefix`")
        if not module.prefix and any("{prefix}" in value for value in module.set.values()):
            yield Complaint((*path, "set"), "there is no prefix", "set `prefix`")
        for other in module.needs:
            if other == module.name or other in module.conflicts:
                yield Complaint((*path, "needs"), f"{module.name} could never be loaded", f"remove {other}")
            elif other not in known and not (modules and modules.paths):
                yield Complaint((*path, "needs"), f"there is no module {other}", "add it to the list")


def ensure_conda_has_a_separate_prefix(site: Site) -> Iterator[Complaint]:
    """The prefix of conda is used for nothing else; if several nodes share it, only one of them installs it."""
    conda = site.inventory.software.conda
    if not conda or not conda.installer:
        return
    storage, prefix = site.inventory.storage, conda.installer.prefix
    path: Path = ("software", "conda", "installer", "prefix")
    nodes = site.nodes_of(conda.installer.where)
    tops = {local.path for local in storage.local} | {at(site, key) for key in storage.exports}
    if is_the_systems(prefix, whole=True) or prefix in tops:
        yield Complaint(path, f"{prefix} is used for other things, too", "choose a directory below it")
    elif within(prefix, fixed(storage.home.path)) or any(
        within(prefix, fixed(space.path)) for space in storage.user_spaces
    ):
        yield Complaint(path, f"{prefix} is among directories of users", "choose another directory, such as /opt/conda")
    for key, export in storage.exports.items():
        sharing = nodes & (site.nodes_of(export.mount_on or storage.mount_on) | {export.server})
        if within(prefix, at(site, key)) and len(sharing) > 1:
            message = f"{prefix} is on export {key}, which {len(sharing)} nodes would install to at the same time"
            yield Complaint(path, message, "name one of them in `where`")


def ensure_logins_keep_their_shell(site: Site) -> Iterator[Complaint]:
    """Variables of logins do not include those of the shell itself."""
    for name in site.inventory.environment.login:
        if name in _THE_SHELLS or name.startswith(("LD_", "SLURM_")):
            yield Complaint(("environment", "login", name), f"{name} is set by the system", "remove it")
