"""The reaper, which ends processes that users have left outside of jobs, and VS Code's servers."""

import json
from collections.abc import Iterator
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/reaper.json"
_PATIENCE = 10  # seconds from SIGTERM to SIGKILL
_EVERY = {"strays": 600, "vscode": 3600}  # seconds between two runs; for strays only if `timers` sets none
_UNIT = {"strays": "gpupool-reaper", "vscode": "gpupool-vscode"}
_COMMAND = {"strays": "gpupool-reaper", "vscode": "gpupool-vscode-kill"}
_PURPOSE = {
    "strays": "gpupool: ends processes of users outside of jobs",
    "vscode": "gpupool: ends VS Code servers of users without an ssh session",
}


def kinds(cluster: Cluster, node: Node) -> dict[str, int]:
    """Return what is ended on a node, each with the seconds between two runs; empty on most nodes.

    Strays are ended on compute nodes only, and not on heads, where users log in to work.
    """
    policies, rules = cluster.policies, {}
    if policies.reaper and node.has("compute") and not node.has("head"):
        rows = [timer for timer in cluster.timers if timer.job == "reaper"]
        here = [timer.every or _EVERY["strays"] for timer in rows if node.name in cluster.select(timer.where)]
        if here or not rows:
            rules["strays"] = here[-1] if here else _EVERY["strays"]
    if policies.vscode_kill and node.name in cluster.select(policies.vscode_kill):
        rules["vscode"] = _EVERY["vscode"]
    return rules


def settings(cluster: Cluster, node: Node) -> dict[str, Any]:
    """Return the content of /etc/gpupool/reaper.json."""
    here, reaper = kinds(cluster, node), cluster.policies.reaper
    data: dict[str, Any] = {
        "about": f"Written by gpupool from the inventory of {cluster.name}; "
        "changes made here are undone by the next apply."
    }
    if reaper and "strays" in here:
        data["strays"] = {
            "grace": reaper.grace,
            "patience": _PATIENCE,
            "spare_users": list(reaper.spare_users),
            "spare_containers": reaper.spare_docker_of_jobs,
            # With `allocated`, a user's session belongs to a job, and ends with the job.
            "spare_users_with_jobs": cluster.access.compute_ssh == "allocated",
        }
    if "vscode" in here:
        data["vscode"] = {"grace": _EVERY["vscode"], "patience": _PATIENCE}
    return data


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program, its settings, and a command, a service and a timer for each kind."""
    here = kinds(cluster, node)
    if not here:
        return
    yield from program("reaper")
    yield File(SETTINGS, json.dumps(settings(cluster, node), indent=1) + "\n")
    walled = not cluster.drivers.contained(node.name)
    for kind, every in here.items():
        values = {"kind": kind, "home": HOME, "settings": SETTINGS, "purpose": _PURPOSE[kind], "unit": _UNIT[kind]}
        service, timer = units_of(kind)
        yield File(f"/usr/local/sbin/{_COMMAND[kind]}", fill("reaper", **values), mode="0755")
        yield File(service, fill("reaper.service", walled=walled, **values))
        yield File(timer, fill("reaper.timer", every=every, **values))


def units_of(kind: str) -> tuple[str, str]:
    """Return the paths of a kind's service and timer."""
    return f"{UNITS}/{_UNIT[kind]}.service", f"{UNITS}/{_UNIT[kind]}.timer"
