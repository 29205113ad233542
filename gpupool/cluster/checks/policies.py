"""Check policies and timers: no setting ends or refuses more than intended."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_size

_SHORTEST_GRACE = 60  # seconds: pam_slurm_adopt needs a moment to move an ssh session into its job
_LEAST_MEMORY = 512  # MiB: enough for a login shell with an editor


def ensure_the_reaper_runs_on_compute_nodes_only(site: Site) -> Iterator[Complaint]:
    """The reaper runs on compute nodes only: on heads users work outside of jobs."""
    reaper, table = site.inventory.policies.reaper, site.node_table
    for index, timer in enumerate(site.inventory.timers):
        if timer.job != "reaper":
            continue
        if reaper is None:
            yield Complaint(
                ("timers", index), "there is no policies.reaper", "set policies.reaper, or remove the timer"
            )
        if timer.when or not timer.every:
            yield Complaint(("timers", index), "the reaper runs at intervals only", "set every: 10m")
        for name in sorted(site.nodes_of(timer.where)):
            roles = table.by_name[name].entry.roles
            if "head" in roles or "compute" not in roles:
                kind = "a head" if "head" in roles else "not a compute node"
                message = f"{name} is {kind}: the reaper does not run there"
                yield Complaint(("timers", index, "where"), message, "name compute nodes only, such as @compute")
                break
    if reaper and reaper.grace < _SHORTEST_GRACE:
        message = "too short: an ssh session is outside of its job for a moment before it is adopted"
        yield Complaint(("policies", "reaper", "grace"), message, f"at least {_SHORTEST_GRACE}s")


def ensure_users_can_work_on_heads(site: Site) -> Iterator[Complaint]:
    """A user's share of memory on heads is enough for a shell."""
    heads = site.inventory.policies.head_nodes
    if heads and heads.memory_per_user < _LEAST_MEMORY:
        message = f"{format_size(heads.memory_per_user)} is not enough to log in and work"
        yield Complaint(
            ("policies", "head_nodes", "memory_per_user"), message, f"at least {format_size(_LEAST_MEMORY)}"
        )


def ensure_homes_have_one_mode(site: Site) -> Iterator[Complaint]:
    """storage.home.mode and policies.home_mode set the same thing, so they must be equal."""
    home, mode = site.inventory.storage.home, site.inventory.policies.home_mode
    if mode and "mode" in home.model_fields_set and mode != home.mode:
        message = f"{mode} contradicts storage.home.mode {home.mode}"
        yield Complaint(("policies", "home_mode"), message, "remove one of them")
