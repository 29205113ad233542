"""Check `slurm.left`: promises and roles that need gpupool's keys, where groups of them stay the site's."""

from collections.abc import Iterator

from gpupool.cluster.attachments import SLURM
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema import Inventory
from gpupool.slurm.keys.tables import NEEDED_BY_CAPS

_GRES = f"{SLURM}/gres.conf"
# The roles that count on the keys of a group.
_FOR_ROLES = {"configless": ("compute", "head"), "place": ("controller", "database", "compute", "munge")}


def ensure_labs_have_what_their_caps_need(site: Site) -> Iterator[Complaint]:
    """The cap of a lab is enforced only with gpupool's own values of these groups."""
    for index, group in enumerate(site.inventory.slurm.left if site.accounts_of_kind("lab") else ()):
        if group in NEEDED_BY_CAPS:
            message = f"the caps of labs need gpupool's own keys of {group}"
            yield Complaint(("slurm", "left", index), message, "remove it, or make them accounts of another kind")


def ensure_left_groups_have_no_words(site: Site) -> Iterator[Complaint]:
    """A setting that would only write keys of such a group is not used beside it; gres.conf is used only with gpus."""
    if _GRES in site.attached and "gpus" not in site.inventory.slurm.left:
        yield Complaint(("slurm", "left"), f"{_GRES} has no effect: gpupool writes gres.conf", "add gpus, or remove it")
    for group, path, has_word in _words(site.inventory):
        if has_word and group in site.inventory.slurm.left:
            yield Complaint(path, f"has no effect: slurm.left has {group}", "write it in slurm.parameters")


def ensure_roles_have_the_groups_that_they_need(site: Site) -> Iterator[Complaint]:
    """A role that counts on the keys of a group is not managed where the site has them."""
    for index, group in enumerate(site.inventory.slurm.left):
        for node in site.node_table.nodes:
            managed = site.managed_roles(node.entry) if node.entry.managed else ()
            roles = [role for role in _FOR_ROLES.get(group, ()) if role in managed and _runs(role, node.entry.roles)]
            if roles:
                message = f"the role {roles[0]} of {node.name} needs gpupool's own keys of {group}"
                yield Complaint(("slurm", "left", index), message, f"remove it, or leave {roles[0]} out of `manage`")
                break


def _runs(role: str, roles: tuple[str, ...]) -> bool:
    kinds = ("controller", "backup-controller") if role == "controller" else (role,)
    return role == "munge" or not {*kinds}.isdisjoint(roles)


def _words(inventory: Inventory) -> Iterator[tuple[str, Path, object]]:
    """Yield settings of groups, with their paths, and whether the inventory has them."""
    scheduler = inventory.scheduler
    yield "memory", ("scheduler", "default_memory"), scheduler.default_memory.model_fields_set
    yield "memory", ("scheduler", "max_memory"), scheduler.max_memory.model_fields_set
    yield "order", ("scheduler", "priority_weights"), scheduler.priority_weights.model_fields_set
    yield "select", ("scheduler", "one_task_per_core"), scheduler.one_task_per_core
    yield "gpus", ("out_of_service",), inventory.out_of_service
    yield "enforce", ("scheduler", "enforce_limits"), "enforce_limits" in scheduler.model_fields_set
    yield "configless", ("scheduler", "rpc_limit"), scheduler.rpc_limit
    yield "configless", ("cloud",), inventory.cloud
    yield "preemption", ("preemption", "action"), "action" in inventory.preemption.model_fields_set
    yield "preemption", ("preemption", "arbiter"), inventory.preemption.arbiter
    for name, qos in inventory.qos.items():
        yield "preemption", ("qos", name, "preemptable"), qos.preemptable
    for index, partition in enumerate(inventory.partitions):
        yield "preemption", ("partitions", index, "preemptable"), partition.preemptable
        yield "limits", ("partitions", index, "limits"), partition.model_fields_set & {"limits"}
