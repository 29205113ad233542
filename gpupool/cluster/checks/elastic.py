"""Check elastic nodes: their cloud, roles and servers, and that the inventory has no secret."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site

_SECRETS = ("key", "secret", "password", "token", "credential")


def ensure_elastic_nodes_can_be_switched(site: Site) -> Iterator[Complaint]:
    """Elastic nodes are in a cloud, run only jobs, and serve no export or pool."""
    storage = site.inventory.storage
    servers = {export.server or export.made_on for export in storage.exports.values()}
    servers |= {pool.server for pool in storage.pools.values()}
    for index, node in enumerate(site.inventory.nodes):
        path = ("nodes", index, "elastic")
        if not node.elastic:
            continue
        if site.inventory.cloud is None:
            yield Complaint(path, f"{node.name} is elastic, but the inventory has no cloud", "add the section `cloud`")
        if node.roles != ("compute",):
            message = f"{node.name}: only a node whose only role is compute can be elastic"
            yield Complaint(path, message, "remove the other roles, or elastic")
        if not node.managed:
            yield Complaint(path, f"{node.name}: gpupool does not manage it", "remove managed: false, or elastic")
    for expanded in site.node_table.nodes:
        if expanded.entry.elastic and expanded.name in servers:
            message = f"{expanded.name} serves an export or a pool, so it must stay on"
            yield Complaint((*expanded.path, "elastic"), message, "name another server")
    if site.inventory.cloud and not any(node.elastic for node in site.inventory.nodes):
        yield Complaint(("cloud",), "has no effect: no node is elastic", severity="warning")


def ensure_cloud_arguments_have_no_secret(site: Site) -> Iterator[Complaint]:
    """The cloud's arguments contain no credentials, and its durations are positive, as Slurm requires."""
    cloud = site.inventory.cloud
    if cloud is None:
        return
    for name in cloud.arguments:
        if any(word in name.lower() for word in _SECRETS):
            message = f"{name} is a secret, which must not be in an inventory"
            hint = f"write it into {cloud.credentials} on the controllers, as a JSON object"
            yield Complaint(("cloud", "arguments", name), message, hint)
    for key in ("idle_after", "boot_timeout", "shutdown_timeout"):
        if getattr(cloud, key) < 1:
            yield Complaint(("cloud", key), "must be longer than 0s: Slurm would never switch a node", "write 5m")


def ensure_power_saving_has_a_program(site: Site) -> Iterator[Complaint]:
    """SuspendTime has an effect only if Slurm has a program to switch nodes off."""
    inventory = site.inventory
    elastic = inventory.cloud and any(node.elastic for node in inventory.nodes)
    if elastic or any(key.lower() == "suspendprogram" for key in inventory.slurm.parameters):
        return
    for index, partition in enumerate(inventory.partitions):
        for key, value in partition.parameters.items():
            if key.lower() == "suspendtime" and str(value).upper() not in ("INFINITE", "-1"):
                message = "without SuspendProgram slurmctld switches no node off"
                hint = "remove it, or add SuspendProgram and ResumeProgram to slurm.parameters"
                yield Complaint(("partitions", index, "parameters", key), message, hint)
