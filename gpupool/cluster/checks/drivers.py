"""Check GPU drivers: each branch supports the GPUs of its nodes and the promised CUDA, and can be installed."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpupool.cluster.complaints import Complaint, Path, dotted
from gpupool.cluster.drivers import Driver, drivers
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.site import Site
from gpupool.distributions.tables import Distribution
from gpupool.nvidia.names import models, of_model
from gpupool.nvidia.tables import Architecture, Branch, branches, distributions, has_fabric_manager
from gpupool.tables import version

_OVERRIDE = "or write another choice for these nodes in software.cuda.overrides"


def _drivers(site: Site) -> list[Driver]:
    """Return the drivers of a site; an empty list for a testbed's inventory, whose GPUs are fake."""
    if site.inventory.gpu.driver == "fake":
        return []
    by_name = site.node_table.by_name
    return list(drivers(site.inventory.software, site.nodes_of, lambda name: site.system_of(by_name[name].entry)))


@dataclass(frozen=True)
class _Gpu:
    """A GPU type and one of its models on a driver's nodes; `needs` is an architecture that the model may have."""

    type: str
    model: str
    nodes: tuple[str, ...]
    needs: Architecture

    def __str__(self) -> str:
        more = f" and {len(self.nodes) - 1} more" if len(self.nodes) > 1 else ""
        return f"{self.type} ({self.model}, {self.needs.name}) of {self.nodes[0]}{more}"


def _types(site: Site, driver: Driver) -> dict[str, list[str]]:
    """Return the GPU types of a driver's nodes, each with the names of its nodes."""
    nodes: dict[str, list[str]] = {}
    for node in site.node_table.nodes:
        for gpu in node.entry.gpus if node.name in driver.nodes else ():
            if gpu not in site.inventory.gpu_types or site.inventory.gpu_types[gpu].vendor == "nvidia":
                nodes.setdefault(gpu, []).append(node.name)
    return nodes


def _gpus(site: Site, driver: Driver) -> Iterator[_Gpu]:
    for gpu, names in _types(site, driver).items():
        entry = site.inventory.gpu_types.get(gpu)
        for model in entry.models if entry else ():
            for needs in of_model(model):
                yield _Gpu(gpu, model, tuple(names), needs)


def _one_each(pairs: Iterator[tuple[str, Complaint]]) -> Iterator[Complaint]:
    """Return the first complaint about each GPU type: two models of one type have one cause."""
    first: dict[str, Complaint] = {}
    for gpu, complaint in pairs:
        first.setdefault(gpu, complaint)
    yield from first.values()


def ensure_drivers_are_known(site: Site) -> Iterator[Complaint]:
    """Each branch is in the tables, each version belongs to its branch, and each repository is declared."""
    # An override inherits from software.cuda, so both can yield the same complaint.
    yield from dict.fromkeys(_unknown(site))


def _unknown(site: Site) -> Iterator[Complaint]:
    newest = list(branches())[-1]
    for driver in _drivers(site):
        if driver.branch and driver.branch not in branches():
            if version(driver.branch) > version(newest):
                message = f"branch {driver.branch} is newer than the tables of this gpupool, which end with {newest}"
                yield Complaint(driver.at("driver_branch"), f"{message}: it is not checked", severity="warning")
            else:
                near = misspelt(driver.branch, branches())
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(branches())}"
                yield Complaint(driver.at("driver_branch"), f"unknown driver branch {driver.branch}", hint)
        if driver.version and driver.branch and driver.version.partition(".")[0] != driver.branch:
            message = f"version {driver.version} is not of branch {driver.branch}"
            yield Complaint(driver.at("version"), message, "set driver_branch, too")
        if driver.repository is not None and driver.repository not in site.inventory.software.repositories:
            near = misspelt(driver.repository, site.inventory.software.repositories)
            hint = f"did you mean {near[0]}?" if near else "add it to software.repositories"
            yield Complaint(driver.at("repository"), f"there is no repository {driver.repository!r}", hint)
        elif driver.repository is not None and driver.branch is None:
            message = f"the repository {driver.repository} may have several branches"
            yield Complaint(driver.at("repository"), message, "set driver_branch")


def ensure_overrides_share_no_node(site: Site) -> Iterator[Complaint]:
    """Each node is in at most one override, and in software.cuda.where."""
    cuda, overridden = site.inventory.software.cuda, dict[str, Path]()
    for index, override in enumerate(cuda.overrides if cuda else ()):
        path: Path = ("software", "cuda", "overrides", index, "where")
        for name in sorted(site.nodes_of(override.where)):
            if name in overridden:
                yield Complaint(path, f"{name} is in overrides[{overridden[name][3]}] already", "name each node once")
                break
            if cuda and name not in site.nodes_of(cuda.where):
                yield Complaint(path, f"{name} is not in software.cuda.where, so it gets no driver", "add it there")
                break
        overridden |= dict.fromkeys(site.nodes_of(override.where), path)


def ensure_drivers_support_the_gpus(site: Site) -> Iterator[Complaint]:
    """Each branch supports the GPUs of its nodes: neither too old nor too new, with the right kernel module."""
    for driver in _drivers(site):
        if branch := branches().get(driver.branch or ""):
            yield from _one_each(_not_carried(site, driver, branch))


def _not_carried(site: Site, driver: Driver, branch: Branch) -> Iterator[tuple[str, Complaint]]:
    for gpu in _gpus(site, driver):
        needs, path = gpu.needs, driver.at("driver_branch")
        if version(branch.name) < version(needs.first_branch):
            message = (
                f"branch {branch.name} is too old for {gpu}: its CUDA is {branch.cuda}, {needs.first_cuda} is needed"
            )
            yield gpu.type, Complaint(path, message, f"{_advice(driver.system, needs)}, {_OVERRIDE}")
        elif needs.last_branch and version(branch.name) > version(needs.last_branch):
            message = f"branch {branch.name} no longer supports {gpu}: {needs.last_branch} is the last branch that does"
            yield gpu.type, Complaint(path, message, f"{_advice(driver.system, needs)}, {_OVERRIDE}")
        elif needs.module == "proprietary" and driver.module == "open":
            message = f"the open kernel module does not support {gpu}, only Turing and later"
            yield gpu.type, Complaint(driver.at("module"), message, f"use proprietary, {_OVERRIDE}")
        elif needs.module == "open" and driver.module == "proprietary":
            message = f"the proprietary kernel module does not support {gpu}"
            yield gpu.type, Complaint(driver.at("module"), message, f"set module: open, {_OVERRIDE}")


def _advice(system: Distribution, needs: Architecture) -> str:
    """Return a hint at a branch: the distribution's newest that fits, else the GPU's last, else a long-term one."""
    fitting = [branch for branch in branches().values() if _fits(branch, needs)]
    if ours := [branch.name for branch in fitting if branch.name in distributions()[system.key].branches]:
        return f"use {ours[-1]}, which {system} has"
    best = max(fitting, key=lambda each: (each.name == needs.last_branch, each.long_term, version(each.name)))
    return f"use {best.name}"


def _fits(branch: Branch, needs: Architecture) -> bool:
    return version(needs.first_branch) <= version(branch.name) <= version(needs.last_branch or branch.name)


def ensure_drivers_support_the_promised_cuda(site: Site) -> Iterator[Complaint]:
    """The promised CUDA is supported by the branch and by each GPU, and is at least `min_cuda`."""
    yield from dict.fromkeys(_promises(site))


def _promises(site: Site) -> Iterator[Complaint]:
    for driver in _drivers(site):
        if driver.promised and driver.cuda and version(driver.promised) > version(driver.cuda):
            message = f"CUDA {driver.promised} is promised, but branch {driver.branch} supports {driver.cuda}"
            later = next(
                (branch.name for branch in branches().values() if version(branch.cuda) >= version(driver.promised)),
                None,
            )
            hint = f"promise {driver.cuda}, or use branch {later} or later" if later else f"promise {driver.cuda}"
            yield Complaint(driver.at("cuda"), message, hint)
        if usable := driver.promised or driver.cuda:
            yield from _one_each(_out_of_reach(site, driver, usable))


def _out_of_reach(site: Site, driver: Driver, usable: str) -> Iterator[tuple[str, Complaint]]:
    path = driver.at("cuda")
    for gpu_type in _types(site, driver):
        entry = site.inventory.gpu_types.get(gpu_type)
        if entry and entry.min_cuda and version(entry.min_cuda) > version(usable):
            limit = f"{dotted(path)} is {usable}" if driver.promised else f"branch {driver.branch} supports {usable}"
            message = f"needs CUDA {entry.min_cuda}, but {limit}"
            yield gpu_type, Complaint(("gpu_types", gpu_type, "min_cuda"), message)
    for gpu in _gpus(site, driver) if driver.promised else ():
        if version(usable) < version(gpu.needs.first_cuda):
            message = f"CUDA {usable} does not know {gpu}: it needs {gpu.needs.first_cuda}"
            yield gpu.type, Complaint(path, message, f"promise {gpu.needs.first_cuda} or later")
        elif gpu.needs.last_cuda and version(usable) > version(gpu.needs.last_cuda):
            message = f"programs built with CUDA {usable} do not run on {gpu}: {gpu.needs.last_cuda} is the last for it"
            yield gpu.type, Complaint(path, message, f"promise {gpu.needs.last_cuda} there", "warning")


def ensure_drivers_are_available(site: Site) -> Iterator[Complaint]:
    """The distribution has the branch with the requested kernel module, or the driver has a repository."""
    yield from dict.fromkeys(_not_shipped(site))


def _not_shipped(site: Site) -> Iterator[Complaint]:
    for driver in _drivers(site):
        system, shipped = driver.system, distributions()[driver.system.key].branches
        branch = branches().get(driver.branch or "")
        if branch is None:
            continue
        packages = shipped.get(branch.name)
        if driver.repository is None and packages is None:
            message = f"{system} has no driver branch {branch.name}, only {', '.join(shipped)}"
            hint = "use one of these, or name a repository that has it: software.repositories and repository"
            yield Complaint(driver.at("driver_branch"), message, hint)
        elif driver.module == "open" and not branch.open:
            first = next(offered.name for offered in branches().values() if offered.open)
            message = f"branch {branch.name} has no open kernel module: {first} is the first with one"
            yield Complaint(driver.at("module"), message, "use proprietary, or a later branch")
        elif driver.module == "open" and driver.repository is None and packages and packages.open is None:
            message = f"{system} has no open kernel module of branch {branch.name}"
            yield Complaint(driver.at("module"), message, "use proprietary, another branch, or a repository")


def ensure_fabric_managers_are_available(site: Site) -> Iterator[Complaint]:
    """The distribution has the fabric manager of drivers whose nodes have NVSwitch, or the driver has a repository."""
    for driver in _drivers(site):
        if has_fabric_manager(driver.system.os_release[0]):
            continue
        nodes = [node for node in site.node_table.nodes if node.name in driver.nodes and not driver.repository]
        for key in dict.fromkeys(node.entry.hardware for node in nodes if node.entry.hardware):
            if key in site.inventory.hardware and site.inventory.hardware[key].nvswitch:
                message = f"{driver.system} has no fabric manager for NVSwitch"
                hint = "name a repository of NVIDIA that has it: software.repositories, and repository in software.cuda"
                yield Complaint(("hardware", key, "nvswitch"), message, hint)


def ensure_repositories_are_whole(site: Site) -> Iterator[Complaint]:
    """A suite has components, unless its name ends with a slash: then it has none."""
    for key, repository in site.inventory.software.repositories.items():
        path: Path = ("software", "repositories", key, "components")
        if repository.suite.endswith("/") and repository.components:
            message = "a suite that ends with a slash is a directory of packages, without components"
            yield Complaint(path, message, "remove them, or the slash")
        elif not repository.suite.endswith("/") and not repository.components:
            yield Complaint(path, f"the suite {repository.suite} needs components", "write [main]")


def ensure_gpu_models_are_known(site: Site) -> Iterator[Complaint]:
    """The models of GPUs with a driver are in the table; otherwise their driver cannot be checked."""
    covered = {name for driver in _drivers(site) for name in driver.nodes}
    used = {gpu for node in site.node_table.nodes if node.name in covered for gpu in node.entry.gpus}
    for key, entry in site.inventory.gpu_types.items():
        for index, model in enumerate(entry.models if key in used and entry.vendor == "nvidia" else ()):
            if not of_model(model):
                near = misspelt(model, models())
                hint = f"did you mean {near[0]}?" if near else "gpupool/nvidia/models.yml lists the known models"
                message = f"unknown model {model!r}: gpupool does not check whether the driver supports it"
                yield Complaint(("gpu_types", key, "models", index), message, hint, "warning")
