"""The program with which each compute node checks itself, and its settings."""

import json
from collections.abc import Iterator
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.health import PROGRAM, wanted
from gpupool.compile.slurm.names import spool
from gpupool.compile.system.driver import CHECK
from gpupool.compile.system.storage import used_for
from gpupool.compile.template import fill
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/health.json"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program and its settings."""
    if node.has("compute") and wanted(cluster):
        yield from program("health")
        yield File(SETTINGS, json.dumps(settings(cluster, node), indent=1) + "\n")
        yield File(PROGRAM, fill("health", home=HOME, settings=SETTINGS), mode="0755")


def settings(cluster: Cluster, node: Node) -> dict[str, Any]:
    """Return the content of /etc/gpupool/health.json, without checks that are not enabled."""
    health = cluster.slurm.health
    checks = health.checks if health else ()
    data: dict[str, Any] = {
        "about": f"Written by gpupool from the inventory of {cluster.name}; "
        "changes made here are undone by the next apply.",
        "node": node.slurm_name,
    }
    if "gpus" in checks and (
        count := len({minor for device in node.devices if not device.is_guess for minor in device.minors})
    ):
        data["gpus"] = {"count": count, "program": CHECK}
        if gone := node.minors_out_of_service:
            data["gpus"]["out_of_service"] = gone
    if "mounts" in checks:
        data["mounts"] = [mount.path for mount in used_for(cluster, node)]
    if health and "disk" in checks:
        environment = cluster.environment
        own = [environment.private_tmp, environment.job_directory.path if environment.job_directory else None]
        data["disk"] = {"paths": ["/", spool(cluster, node), "/tmp", *filter(None, own)], "mib": health.disk_free}
    # A container has the clock of its host.
    if "clock" in checks and not cluster.drivers.contained(node.name):
        data["clock"] = True
    return data
