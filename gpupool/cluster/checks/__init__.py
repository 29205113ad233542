"""Rules for an inventory that fits the schema: each is a function `ensure_…`, and all of them run."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType

from gpupool.cluster.checks import (
    access,
    backup,
    budgets,
    by_gpu_type,
    cpus_per_gpu,
    dead_ends,
    directory,
    distribution,
    docker,
    drivers,
    each_account,
    elastic,
    exclusive,
    gpus,
    hardware,
    homes,
    jobs,
    least,
    left,
    limits,
    managed,
    members,
    modules,
    names,
    networks,
    outages,
    ownership,
    parameters,
    policies,
    policy,
    preemption,
    priority,
    release,
    reservations,
    room,
    selectors,
    singularity,
    site_files,
    site_mounts,
    slurm_of_site,
    spaces,
    storage,
    sums,
    system,
    times,
    tools,
    topology,
    variables,
    zfs,
)
from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site

Check = Callable[[Site], Iterator[Complaint]]


def _in(room: ModuleType) -> tuple[Check, ...]:
    return tuple(getattr(room, name) for name in vars(room) if name.startswith("ensure_"))


NAMES = (*_in(selectors), *_in(names))
_OTHERS = (
    networks,
    hardware,
    gpus,
    sums,
    parameters,
    ownership,
    exclusive,
    topology,
    policy,
    preemption,
    priority,
    limits,
    each_account,
    dead_ends,
    least,
    times,
    budgets,
    reservations,
    outages,
    directory,
    distribution,
    room,
    by_gpu_type,
    cpus_per_gpu,
    storage,
    site_mounts,
    site_files,
    spaces,
    zfs,
    system,
    homes,
    variables,
    tools,
    drivers,
    policies,
    access,
    members,
    modules,
    docker,
    singularity,
    jobs,
    elastic,
    managed,
    left,
    backup,
    release,
    slurm_of_site,
)
CHECKS = (*NAMES, *(check for room in _OTHERS for check in _in(room)))


def complaints(site: Site, checks: tuple[Check, ...]) -> list[Complaint]:
    """Run checks and return all complaints, each with its path in the file and the code of its check."""
    return [
        replace(complaint, path=site.as_written(complaint.path), code=code(check))
        for check in checks
        for complaint in check(site)
    ]


def code(check: Check) -> str:
    """Return the code of a check's complaints: `squash-is-intended` for `ensure_squash_is_intended`."""
    return check.__name__.removeprefix("ensure_").replace("_", "-")
