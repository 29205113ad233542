"""Check `manage`: promises of the inventory that roles which are left to the site would keep."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.node_table import ExpandedNode
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site

_CONTROLLERS = ("controller", "backup-controller")


@dataclass(frozen=True)
class _Promise:
    """A promise that an inventory may make, the role that keeps it, and the nodes where: by their roles, () for all."""

    broken: str
    made: Callable[[Site], object]
    role: str
    on: tuple[str, ...] = ()


def _has_labs(site: Site) -> object:
    return site.accounts_of_kind("lab")


def _has_budgets(site: Site) -> bool:
    return any(account.budget for account in site.inventory.accounts)


def _has_programs(site: Site) -> object:
    own = site.inventory.environment
    attached = any(name.startswith(("slurm/prolog-", "slurm/epilog-")) for name in site.attached)
    cleans = any(timer.job == "shm-clean" for timer in site.inventory.timers)
    return own.job or own.job_directory or cleans or attached


def _has_health(site: Site) -> object:
    return site.inventory.slurm.health and site.inventory.slurm.health.enabled


def _is_elastic(site: Site) -> bool:
    return any(node.elastic for node in site.inventory.nodes)


_PROMISES = (
    _Promise("the caps of labs are not set", _has_labs, "accounts", ("database",)),
    _Promise("the caps of labs are not enforced", _has_labs, "slurm", _CONTROLLERS),
    _Promise("budgets are not set", _has_budgets, "accounts", ("database",)),
    _Promise("budgets are not enforced", _has_budgets, "budgets", _CONTROLLERS),
    _Promise("reservations are not made", lambda site: site.inventory.reservations, "controller", ("controller",)),
    _Promise("broken nodes get jobs", lambda site: site.inventory.out_of_service, "controller", ("controller",)),
    _Promise("elastic nodes are not switched", _is_elastic, "elastic"),
    _Promise("programs around jobs are not installed", _has_programs, "jobs", ("compute",)),
    _Promise("the health check is not installed", _has_health, "health", ("compute",)),
    _Promise("users are not created", lambda site: site.inventory.users, "people"),
    _Promise("users of the directory are unknown", lambda site: site.inventory.directory, "directory"),
    _Promise("exports are not mounted", lambda site: site.inventory.storage.exports, "storage"),
    _Promise("files of the site are not put", lambda site: site.inventory.files, "site_files"),
    _Promise("tools are not installed", lambda site: site.inventory.tools, "tools"),
)


def ensure_promises_are_managed(site: Site) -> Iterator[Complaint]:
    """Each promise of the inventory has a role that keeps it, on every node that gpupool logs in to."""
    for promise in _PROMISES:
        nodes = _logged_in(site, promise.on) if promise.made(site) else ()
        if without := [node for node in nodes if promise.role not in site.managed_roles(node.entry)]:
            names = listed([node.name for node in without])
            message = f"{promise.broken}: gpupool does not manage {promise.role} on {names}"
            yield Complaint(_path(without[0]), message, "the site has to do this, or add the role", "warning")


def ensure_slurm_is_managed_on_all_controllers(site: Site) -> Iterator[Complaint]:
    """All nodes with slurm.conf as a file get it from gpupool, or none of them: else they would have different ones."""
    nodes = list(_logged_in(site, (*_CONTROLLERS, "database")))
    without = [node for node in nodes if "slurm" not in site.managed_roles(node.entry)]
    if without and len(without) < len(nodes):
        others = listed([node.name for node in nodes if node not in without])
        message = f"{without[0].name} keeps its own slurm.conf, and {others} would get another one"
        yield Complaint(_path(without[0]), message, "manage slurm on all of them, or on none")


#: Roles that put people, their files or their quotas on nodes.
_WITH_IDS = frozenset(("people", "fileserver", "storage", "spaces", "singularity", "usage"))


def ensure_users_have_ids(site: Site) -> Iterator[Complaint]:
    """Each user has a uid where gpupool manages people or their files on any node, also on nodes of a later day."""
    without = [(index, user.name) for index, user in enumerate(site.inventory.users) if user.uid is None]
    roles = site.roles_somewhere & _WITH_IDS
    if without and roles:
        has, names = "has" if len(without) == 1 else "have", listed([name for _, name in without])
        message = f"{names} {has} no uid: gpupool needs one to manage {listed(sorted(roles), 6)}"
        hint = "`id -u NAME` prints that of a user who exists; without these roles in `manage`, none is needed"
        yield Complaint(("users", without[0][0]), message, hint)


def _logged_in(site: Site, roles: tuple[str, ...]) -> Iterator[ExpandedNode]:
    for node in site.node_table.nodes:
        if node.entry.managed and (not roles or {*roles} & {*node.entry.roles}):
            yield node


def _path(node: ExpandedNode) -> tuple[str | int, ...]:
    return (*node.path, "manage") if node.entry.manage else ("cluster", "manage")
