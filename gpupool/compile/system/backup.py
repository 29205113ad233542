"""Backups of the accounting database and of slurmctld's state: what each node backs up, and its files."""

import json
from collections.abc import Iterator
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import Directory, File

SETTINGS = "/etc/gpupool/backup.json"
COMMAND = "/usr/local/sbin/gpupool-backup"
SERVICE, TIMER = f"{UNITS}/gpupool-backup.service", f"{UNITS}/gpupool-backup.timer"
PERIOD = 86400  # seconds from one backup to the next


def kinds(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return what a node backs up: the database on its node, the state on the first controller."""
    if cluster.slurm.backup is None:
        return ()
    state = ("state",) if node == cluster.controllers[0] else ()
    return (*(("database",) if node.has("database") else ()), *state)


def folder(cluster: Cluster) -> Directory | None:
    """Return the directory of the backups; None without backups."""
    backup = cluster.slurm.backup
    return Directory(backup.to, "root", "root", "0700") if backup else None


def settings(cluster: Cluster, node: Node) -> dict[str, Any]:
    """Return the content of /etc/gpupool/backup.json."""
    backup = cluster.slurm.backup
    assert backup
    return {
        "about": f"Written by gpupool from the inventory of {cluster.name}; "
        "changes made here are undone by the next apply.",
        "cluster": cluster.name,
        "to": backup.to,
        "keep": backup.keep,
        "kinds": list(kinds(cluster, node)),
        "state": cluster.slurm.state,
    }


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program, its settings and command, a service and a timer; nothing on nodes that back up nothing."""
    backup = cluster.slurm.backup
    if backup is None or not kinds(cluster, node):
        return
    yield from program("backup")
    yield File(SETTINGS, json.dumps(settings(cluster, node), indent=1) + "\n")
    yield File(COMMAND, fill("backup", home=HOME, settings=SETTINGS), mode="0755")
    walled = not cluster.drivers.contained(node.name)
    yield File(SERVICE, fill("backup.service", home=HOME, settings=SETTINGS, to=backup.to, walled=walled))
    yield File(TIMER, fill("backup.timer", at=backup.at))
