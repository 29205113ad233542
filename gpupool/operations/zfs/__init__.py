"""ZFS: pools, datasets, their properties, quotas and snapshots, brought in line property by property.

Nothing is ever destroyed, renamed, moved, or made smaller than what is in it: `report_refused` says what has to stay,
and which command a person would run. A pool is only made on disks on which nothing lies.
"""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.zfs import Datasets, DatasetsState, Pools
from gpupool.facts.zfs_disks import PoolsState
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.refusal import refuse
from gpupool.operations.zfs.datasets import GLANCE, work_on_datasets
from gpupool.operations.zfs.pools import Work, work_on_pools
from gpupool.shell import shell_file
from gpupool.wanted import Dataset, Pool

_PRELUDE = shell_file(__package__, "zfs.sh")
_END = """[ -z "$failed" ] || { printf '%s\\n' "$failed" >&2; exit 1; }"""

Commands = Generator[StringCommand, None, None]


@operation()
def pools(wanted: list[Pool]) -> Commands:
    """Have these pools: made on disks on which nothing lies, imported where all their disks say that they are theirs.

    A disk with partitions, a file system or any other signature is refused, with what is on it. Properties are set one
    by one. Disks are never added to a pool that is there, or taken from it: see `report_refused`.
    """
    state = _pools(wanted)
    if words := _silent(state, "zpool"):
        yield from refuse(words)
        return
    assert state
    yield from _do(work_on_pools(wanted, state), f"{len(wanted)} pools: as wanted")


@operation()
def datasets(wanted: list[Dataset]) -> Commands:
    """Have these datasets, parents before children, mounted, with their properties and quotas, one by one.

    A dataset that is there already is taken over as it is. What a parent in the list says holds for those below it too.
    A property that was wanted before and is no more goes back to what it inherits. What cannot be done without loss is
    left as it is: see `report_refused`.
    """
    state = _datasets(wanted)
    if words := _silent(state, "zfs"):
        yield from refuse(words)
        return
    assert state
    yield from _do(work_on_datasets(wanted, state), f"{len(wanted)} datasets: as wanted")


@operation()
def report_refused(pools: list[Pool], datasets: list[Dataset]) -> Commands:
    """Fail in words where something cannot be had without loss, or is there and wanted no more; change nothing.

    To be called last, when all else is done. Each refusal says what a person would run.
    """
    states = [_pools(pools), _datasets(datasets)]
    if silent := next((message for state in states if (message := _silent(state, "zfs"))), ""):
        yield from refuse(silent)
        return
    first, second = states
    assert isinstance(first, PoolsState)
    assert isinstance(second, DatasetsState)
    stays = work_on_pools(pools, first).stays | work_on_datasets(datasets, second).stays
    diffs.record({f"{what} (refused)": f"{why}\n" for what, why in stays.items()})
    if not stays:
        this_host().noop("ZFS: nothing refused")
        return
    message = "; ".join(_told(stays))
    yield StringCommand(f"printf '%s\\n' {shlex.quote(message)} >&2; exit 1")


def _pools(wanted: list[Pool]) -> PoolsState | None:
    state: PoolsState | None = this_host().get_fact(Pools, disks=[disk for pool in wanted for disk in pool.disks])
    return state


def _datasets(wanted: list[Dataset]) -> DatasetsState | None:
    state: DatasetsState | None = this_host().get_fact(
        Datasets,
        named=[entry.name for entry in wanted],
        users=[entry.name for entry in wanted],
        places=[entry.mountpoint for entry in wanted if entry.mountpoint],
        properties=list(GLANCE),
    )
    return state


def _silent(state: PoolsState | DatasetsState | None, what: str) -> str:
    """Say that ZFS does not answer; a plan may come before it is installed."""
    if state is None:
        return f"cannot read the state of {what}: no answer within 60 s"
    return f"ZFS does not work here: {state.trouble}" if state.trouble and executing() else ""


def _told(stays: dict[str, str]) -> list[str]:
    return [f"{what}: {why}" for what, why in stays.items()]


def _do(work: Work, right: str) -> Commands:
    if work.obstacles:
        yield from refuse("; ".join(work.obstacles))
        return
    diffs.record(work.changes)
    if not work.lines:
        this_host().noop(right)
        return
    yield StringCommand("\n".join([_PRELUDE.strip(), *work.lines, _END]))
