"""The packages of a driver."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpupool.distributions.tables import Distribution
from gpupool.nvidia.tables import Module, distributions, read
from gpupool.tables import version
from gpupool.wanted import GpuDriver

#: Patterns of the names of a driver's packages, in the form of apt_preferences(5).
PATTERNS = "*nvidia* libcuda1 libnvcuvid1 cuda-drivers*"


def with_fabric_manager(system: Distribution, driver: GpuDriver, *, repository: bool) -> GpuDriver:
    """Return a driver with its fabric manager, of the distribution or of NVIDIA's repository; KeyError without one."""
    row = _nvidias(driver.branch) if repository else read("packages")[system.os_release[0]]
    return replace(driver, held=(*driver.held, row["fabric"].format(branch=driver.branch)))


def from_distribution(system: Distribution, branch: str, module: Module, exact: str | None) -> GpuDriver:
    """Return the packages of a branch in a distribution's release; KeyError if the release does not have it."""
    system_id, _ = system.os_release
    row = read("packages")[system_id]
    if "series" not in row:
        return _by_branch(system, row, branch, module, exact)
    series = _series(system.key)
    own = series[branch]

    def named(pattern: str, of: str = own) -> str:
        cuda = row["cuda"]["other" if of else ""].format(series=of)
        return pattern.format(series=of, cuda=cuda)

    modules = {kind: named(name) for kind, name in row["module"].items()}
    others = [each for each in series.values() if each != own]
    return GpuDriver(
        branch,
        exact,
        (modules[module], *map(named, row["held"])),
        _beside(system, row),
        (
            *(name for kind, name in modules.items() if kind != module and not own),
            *(named(row["module"]["proprietary"], other) for other in others),
            *(named(row["alternative"], other) for other in others),
        ),
    )


def _by_branch(
    system: Distribution, row: Mapping[str, Any], branch: str, module: Module, exact: str | None
) -> GpuDriver:
    """Return the packages of a branch in a distribution whose names have the branch's number."""

    def named(kind: str, of: str) -> str:
        name: str = row["module"][kind]
        return name.format(branch=of)

    wanted = named(module, branch)
    modules = [named(kind, other) for other in distributions()[system.key].branches for kind in row["module"]]
    held = (name.format(branch=branch) for name in row["held"])
    instead = tuple(name for name in modules if name != wanted)
    return GpuDriver(branch, exact, (wanted, *held), _beside(system, row), instead)


def from_repository(system: Distribution, branch: str, module: Module, exact: str | None) -> GpuDriver:
    """Return the packages of a branch, with their names in NVIDIA's own repository."""
    row = _nvidias(branch)
    names = (row["module"][module], *row["held"])
    held = dict.fromkeys(name.format(branch=branch) for name in names)
    return GpuDriver(branch, exact, tuple(held), _beside(system, row), tuple(row["instead"][module]))


def _nvidias(branch: str) -> Mapping[str, Any]:
    """Return the row of a branch in NVIDIA's own repository."""
    rows: list[Mapping[str, Any]] = read("packages")["nvidia"]
    return [each for each in rows if version(each["branch"]) <= version(branch)][-1]


def _beside(system: Distribution, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the packages of other versions than the driver's, with the headers from which its module is built."""
    return (*sorted(system.names("kernel headers")), *row["beside"])


def _series(key: str) -> dict[str, str]:
    """Return the part of the package names by branch, such as `tesla-535-`."""
    return {
        branch: packages.driver.removeprefix("nvidia-").removesuffix("driver")
        for branch, packages in distributions()[key].branches.items()
    }
