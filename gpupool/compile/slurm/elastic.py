"""Nodes that are switched on when a job wants them and off when they are idle: Slurm's part, and our programs."""

import json
from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.names import PROGRAMS, SPOOL
from gpupool.compile.template import fill
from gpupool.slurm.hostlists import fold_set
from gpupool.unix import APPLY_LOCK, UNITS
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/elastic.json"
UNIT = f"{UNITS}/gpupool-elastic.service"
#: What slurmctld runs, with the nodes that it wants to be on, off, or that failed to come.
RESUME, SUSPEND = f"{PROGRAMS}/elastic-on", f"{PROGRAMS}/elastic-off"
#: What slurmd waits for on a node that sleeps.
CHECK = "/usr/libexec/gpupool/elastic-check"
CHECK_DROP_IN = f"{UNITS}/slurmd.service.d/gpupool-elastic.conf"
#: What a node is since the last apply that got through there.
STAMP = "/var/lib/gpupool/elastic"
STALE = "gpupool: elastic: older than the inventory: run gpupool apply while it is on"
REBOOT_SECONDS = 1800  # what a server's own checks of its memory may take


def sleepers(cluster: Cluster) -> list[Node]:
    """Return the nodes that are switched off when idle."""
    return [node for node in cluster.having("compute") if node.elastic] if cluster.cloud else []


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the keys of slurm.conf by which nodes sleep; none where no node does."""
    nodes, cloud = sleepers(cluster), cluster.cloud
    if not nodes or cloud is None:
        return {}
    resume = -(-len(nodes) // (cloud.starting or len(nodes))) * cloud.boot_timeout
    awake = [node.slurm_name for node in cluster.having("compute") if not node.elastic]
    return {
        "SuspendTime": str(cloud.idle_after),
        "SuspendTimeout": str(cloud.shutdown_timeout),
        "ResumeTimeout": str(max(resume, REBOOT_SECONDS if cluster.policies.reboot_only_idle else 0)),
        **({"SuspendExcNodes": fold_set(awake)} if awake else {}),
        # how fast: our service counts how many start at once
        "ResumeRate": "0",
        "SuspendRate": "0",
        "ResumeProgram": RESUME,
        "SuspendProgram": SUSPEND,
        "ResumeFailProgram": SUSPEND,
    }


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield what switches nodes on and off, on controllers, and on each node that sleeps what it checks at boot."""
    if not sleepers(cluster):
        return
    if node.has("controller", "backup-controller"):
        yield from program("elastic")
        yield File(SETTINGS, settings(cluster))
        for path, power in ((RESUME, "on"), (SUSPEND, "off")):
            text = fill("elastic-power", cluster=cluster, power=power, folder=folder(cluster))
            yield File(path, text, mode="0755")
        yield File(
            UNIT,
            fill("elastic.service", cluster=cluster, home=HOME, settings=SETTINGS, folder=folder(cluster)),
        )
    if node.elastic:
        conf = f"{SPOOL}/conf-cache/slurm.conf"
        values = {"node": node.slurm_name, "conf": conf, "stamp": STAMP, "stale": STALE, "lock": APPLY_LOCK}
        yield File(CHECK, fill("elastic-check", cluster=cluster, **values), mode="0755")
        yield File(CHECK_DROP_IN, fill("slurmd-elastic.conf", cluster=cluster, check=CHECK))


def folder(cluster: Cluster) -> str:
    """Return where slurmctld's wishes are: beside its state, so that a backup that takes over has them."""
    return f"{cluster.slurm.state.rstrip('/')}/gpupool-elastic"


@lru_cache(maxsize=4)
def settings(cluster: Cluster) -> str:
    """Return /etc/gpupool/elastic.json: the cloud, and its machines by what Slurm calls the nodes."""
    cloud = cluster.cloud
    assert cloud
    return (
        json.dumps(
            {
                "about": f"Written by gpupool from the inventory of {cluster.name}; "
                "changes made here are undone by the next apply.",
                "driver": cloud.driver,
                "arguments": cloud.arguments,
                "credentials": cloud.credentials,
                "starting": cloud.starting,
                "boot_timeout": cloud.boot_timeout,
                "folder": folder(cluster),
                "machines": {node.slurm_name: node.name for node in sleepers(cluster)},
            },
            indent=1,
        )
        + "\n"
    )
