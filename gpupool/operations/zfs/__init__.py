"""ZFS: create pools and datasets, and set their properties and quotas one by one.

Nothing is ever destroyed, renamed, moved, or made smaller than its contents: `report_refused` lists such changes, with
the command that an admin would run. A pool is only created on empty disks.
"""

from typing import TypeVar

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.zfs import Datasets, DatasetsState, Pools
from gpupool.facts.zfs_disks import PoolsState
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.refusal import failure
from gpupool.operations.work import Work
from gpupool.operations.zfs.datasets import GLANCE, work_on_datasets
from gpupool.operations.zfs.pools import work_on_pools
from gpupool.shell import shell_file
from gpupool.wanted import Dataset, Pool

_PRELUDE = shell_file(__package__, "zfs.sh")
_END = """[ -z "$failed" ] || { printf '%s\\n' "$failed" >&2; exit 1; }"""

State = TypeVar("State", PoolsState, DatasetsState)


@operation
def pools(wanted: list[Pool]) -> Commands:
    """Have these pools: created on empty disks, or imported if the labels of all their disks name the pool.

    A disk with partitions, a file system or any other signature is refused, with its contents. Properties are set one
    by one. Disks are never added to an existing pool or removed from it: see `report_refused`.
    """
    yield from _carry_out(work_on_pools(wanted, _pools(wanted)), f"{len(wanted)} pools: as wanted")


@operation
def datasets(wanted: list[Dataset]) -> Commands:
    """Have these datasets mounted, parents before children, with their properties and quotas.

    Existing datasets are kept with their data. Properties of a parent in the list are also wanted for datasets below
    it. A property that is no longer wanted is inherited again. Changes that could lose data are not made: see
    `report_refused`.
    """
    yield from _carry_out(work_on_datasets(wanted, _datasets(wanted)), f"{len(wanted)} datasets: as wanted")


@operation
def report_refused(pools: list[Pool], datasets: list[Dataset]) -> Commands:
    """Fail with the list of changes that gpupool does not make, and of datasets that are no longer wanted, if any.

    Call it last; it changes nothing. Each refusal has the command that an admin would run.
    """
    stays = work_on_pools(pools, _pools(pools)).stays | work_on_datasets(datasets, _datasets(datasets)).stays
    diffs.record(
        Change(Kind.ZFS, item, (Aspect("as in the inventory", "as it is", note=why),), refused=True)
        for item, why in stays.items()
    )
    if not stays:
        this_host().noop("ZFS: nothing refused")
        return
    yield failure("; ".join(f"{what}: {why}" for what, why in stays.items()))


def _pools(wanted: list[Pool]) -> PoolsState:
    return _working(look(Pools, "the pools of ZFS", disks=[disk for pool in wanted for disk in pool.disks]))


def _datasets(wanted: list[Dataset]) -> DatasetsState:
    names = [entry.name for entry in wanted]
    places = [entry.mountpoint for entry in wanted if entry.mountpoint]
    return _working(
        look(Datasets, "the datasets of ZFS", named=names, users=names, places=places, properties=list(GLANCE))
    )


def _working(state: State) -> State:
    # in a plan, ZFS may not be installed yet
    if state.trouble and executing():
        raise Refused(f"ZFS does not work here: {state.trouble}")
    return state


def _carry_out(work: Work, nothing_to_do: str) -> Commands:
    work.lines = [f"try {line}" for line in work.lines]
    yield from work.carry_out(nothing_to_do, _PRELUDE, [_END])
