"""Elastic nodes, which are powered up for jobs and powered down when idle: Slurm's part, and our programs."""

import json
from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.names import PROGRAMS, spool
from gpupool.compile.template import fill
from gpupool.slurm.hostlists import fold_set
from gpupool.unix import APPLY_LOCK, UNITS
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/elastic.json"
UNIT = f"{UNITS}/gpupool-elastic.service"
#: slurmctld runs these with the nodes to power up, to power down, or that failed to come up.
RESUME, SUSPEND = f"{PROGRAMS}/elastic-on", f"{PROGRAMS}/elastic-off"
#: The check that runs before each start of slurmd on an elastic node.
CHECK = "/usr/libexec/gpupool/elastic-check"
CHECK_DROP_IN = f"{UNITS}/slurmd.service.d/gpupool-elastic.conf"
#: The digest of an elastic node's configuration since its last complete apply.
STAMP = "/var/lib/gpupool/elastic"
STALE = "gpupool: elastic: older than the inventory: run gpupool apply while it is on"
REBOOT_SECONDS = 1800  # a server's own memory test may take this long


def sleepers(cluster: Cluster) -> list[Node]:
    """Return the nodes that are powered down when idle."""
    return [node for node in cluster.having("compute") if node.elastic] if cluster.cloud else []


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the keys of slurm.conf for power saving; empty without elastic nodes."""
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
        # Rates are unlimited: our service counts how many nodes start at the same time.
        "ResumeRate": "0",
        "SuspendRate": "0",
        "ResumeProgram": RESUME,
        "SuspendProgram": SUSPEND,
        "ResumeFailProgram": SUSPEND,
    }


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the power programs on controllers, and the boot check on elastic nodes."""
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
        conf = f"{spool(cluster, node)}/conf-cache/slurm.conf"
        values = {"node": node.slurm_name, "conf": conf, "stamp": STAMP, "stale": STALE, "lock": APPLY_LOCK}
        yield File(CHECK, fill("elastic-check", cluster=cluster, **values), mode="0755")
        yield File(CHECK_DROP_IN, fill("slurmd-elastic.conf", cluster=cluster, check=CHECK))


def folder(cluster: Cluster) -> str:
    """Return the directory of slurmctld's power requests: beside its state, so that a backup controller has them."""
    return f"{cluster.slurm.state.rstrip('/')}/gpupool-elastic"


@lru_cache(maxsize=4)
def settings(cluster: Cluster) -> str:
    """Return /etc/gpupool/elastic.json: the cloud, and its machines by NodeName."""
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
