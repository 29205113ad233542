"""Install and hold the GPU driver; it is never changed while jobs run.

The driver is changed if none is loaded, or if the node has no job and none can begin, because it is drained. Otherwise
the driver is not changed, and `settled` fails with the reason after all other operations.
"""

from collections.abc import Iterator

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.effect import Effect
from gpupool.facts.driver import Driver, DriverState
from gpupool.operations import diffs, packages
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import WAITS, Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.reasons import Code, Reason
from gpupool.shell import shell_file, values
from gpupool.wanted import GpuDriver

_PRELUDE = packages.APT + shell_file(__package__, "driver.sh")


@operation
def installed(driver: GpuDriver, node: str, patterns: list[str]) -> Commands:
    """Have a driver's packages installed and held, in the version of apt's pins, and load its module.

    `patterns` are names of packages, with `*`: matching packages of the driver's version are held. `node` is the node's
    name in Slurm. The driver is not changed while jobs use it or may begin.
    """
    state = _look(driver, node, patterns)
    late, work = _differs(driver, state), Work(Kind.PACKAGE)
    beside = [package for package in driver.beside if package not in state.installed]
    if late and _waits_for(state):
        late, beside = {}, []  # `settled` reports it
    for package, differs in late.items():
        work.differs(package, differs)
    for package in beside:
        work.differs(package)
    diffs.costs("driver", dict.fromkeys(late, Effect("another GPU driver")))
    if late or beside:
        work.lines += packages.FIRST
    if late:
        # in one command: alone, the packages beside the driver would install the libraries of another driver
        work.run("offered", *driver.held)
        removed = [f"{name}-" for name in driver.instead if name in state.installed]
        work.run("change", *driver.held, *driver.beside, *removed)
    elif beside:
        work.run("get", *beside)
    unheld = [] if _differs(driver, state) else _unheld(driver, state)
    if unheld:
        names = ", ".join(unheld)
        work.differs("hold", Aspect(f"held: {names}", f"not held: {names}", note=names))
    if late or beside or unheld:
        work.run("hold", *patterns)
    if late:
        work.run("reload")
    yield from work.carry_out(
        f"GPU driver {driver.prefix}*: as wanted, or left while jobs use it",
        values(prefix=driver.prefix) + _PRELUDE,
    )


@operation
def settled(driver: GpuDriver, node: str, patterns: list[str]) -> None:
    """Fail with the reason if the driver's change needs a drained node, or if another driver is loaded.

    Call it after all other operations, so that it does not stop them. It changes nothing.
    """
    state = _look(driver, node, patterns)
    late = _differs(driver, state)
    if late and (why := _waits_for(state)):
        diffs.costs("driver", {"driver": Effect.drain(state.users or state.jobs)})
        wanted = driver.version or f"{driver.prefix}*"
        raise Refused(
            f"GPU driver {state.loaded} is not replaced, because {why}; wanted: {wanted} ({', '.join(late)}); "
            f"drain the node (scontrol update nodename={node} state=drain reason=driver), then apply again",
            WAITS,
        )
    if executing() and not late and (other := _other_loaded(driver, state)):
        raise Refused(
            f"GPU driver {_version(driver, state)} is installed, but {other}: reboot the node without jobs",
            Reason(Code.NEEDS_REBOOT),
        )
    this_host().noop("the GPU driver needs neither a drain nor a reboot")


def _look(driver: GpuDriver, node: str, patterns: list[str]) -> DriverState:
    names = [*patterns, *driver.held, *driver.beside, *driver.instead]
    return look(Driver, "the GPU driver", node=node, packages=list(dict.fromkeys(names)))


def _differs(driver: GpuDriver, state: DriverState) -> dict[str, Aspect]:
    """Return the changes by package."""
    return dict(_changes(driver, state))


def _changes(driver: GpuDriver, state: DriverState) -> Iterator[tuple[str, Aspect]]:
    versions = {state.installed.get(name) for name in driver.held}
    # the packages of one driver may have different Debian revisions: it is enough that one has exactly this version
    exact = driver.version is None or driver.version in versions
    for name in driver.held:
        now = state.installed.get(name)
        if now is None or not now.startswith(driver.prefix) or not exact:
            wanted = driver.version or f"{driver.prefix}*"
            yield name, Aspect(wanted, now or ABSENT)
    for name in driver.instead:
        if name in state.installed:
            yield name, Aspect(ABSENT, PRESENT, note="will be removed: of another driver")


def _unheld(driver: GpuDriver, state: DriverState) -> list[str]:
    ours = (name for name, version in state.installed.items() if version.startswith(driver.prefix))
    return sorted(name for name in ours if name not in state.held)


def _waits_for(state: DriverState) -> str | None:
    """Return why the driver cannot be changed now; None if it can."""
    if state.loaded is None:
        return None
    if state.jobs:
        return f"jobs are on the node ({', '.join(state.jobs)})"
    return "jobs may begin on the node at any moment" if state.open else None


def _other_loaded(driver: GpuDriver, state: DriverState) -> str | None:
    if state.nouveau:
        return "nouveau is loaded"
    return f"{state.loaded} is loaded" if state.loaded and state.loaded != _version(driver, state) else None


def _version(driver: GpuDriver, state: DriverState) -> str:
    """Return the installed version in the form of the module's: 550.163.01."""
    return state.installed.get(driver.held[0], "").rpartition("-")[0]
