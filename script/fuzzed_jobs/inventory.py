"""The cluster on which jobs are tried: labs with caps, guests, maximum amounts of memory."""

import json
from pathlib import Path
from typing import Any

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster

#: The lab whose probe jobs must start: no other job is of its users.
PROBED, PROBE_USER = "owner-lab", "u-owner1"
_USERS = {"vision-lab": 4, "robotics-lab": 3, PROBED: 1}
_GUESTS: dict[str, Any] = {"nodes": "@compute", "max_time": "2d", "preemptable": True, "grace": "5m"}


def inventory() -> dict[str, Any]:
    """Return the inventory as data. The first user of each lab is its coordinator."""
    labs = {"vision-lab": 8, "robotics-lab": 4, PROBED: 4}
    places = [{"name": "ctl", "address": "10.90.1.1", "roles": ["head", "controller", "database"]}]
    kinds = (("a40", "big", 2, 4, 2), ("rtx", "small", 4, 2, 3))
    for name, hardware, count, gpus, subnet in kinds:
        machines = {"name": f"{name}-[1-{count}]", "address": f"10.90.{subnet}.[1-{count}]", "roles": ["compute"]}
        kind = "a40" if name == "a40" else "rtx_6000"
        places.append({**machines, "hardware": hardware, "gpus": {kind: gpus}})  # type: ignore[dict-item]
    users = [
        {
            "name": f"u-{lab.removesuffix('-lab')}{number}",
            "uid": 20001 + 10 * row + number,
            "account": lab,
            **({"coordinator": True} if number == 1 else {}),
        }
        for row, (lab, count) in enumerate(_USERS.items())
        for number in range(1, count + 1)
    ]
    owners = {"nodes": "@compute", "deny_accounts": ["overcap"]}
    return {
        "schema": 1,
        "cluster": {"name": "fuzz", "domain": "fuzz.example", "network": "10.90.0.0/16"},
        "gpu_types": {"a40": {"models": ["A40"]}, "rtx_6000": {"models": ["Quadro RTX 6000"]}},
        "hardware": {
            "big": {"cpus": 64, "memory": "256G", "gpu_slots": 4, "cpus_kept_per_gpu": 12},
            "small": {"cpus": 16, "memory": "64G", "gpu_slots": 2, "cpus_kept_per_gpu": 6},
        },
        "nodes": places,
        "accounts": [
            *(
                {"name": lab, "kind": "lab", "gid": 5001 + row, "contributed_gpus": gpus}
                for row, (lab, gpus) in enumerate(labs.items())
            ),
            {"name": "overcap", "kind": "shared", "members": "all"},
        ],
        "users": users,
        "qos": {
            "normal": {"default": True, "priority": 50},
            "debug": {"max_wall": "4h", "priority": 100, "limits": {"per_user": {"gpu": 2}}},
        },
        "partitions": [
            {"name": "debug", "max_time": "4h", "tier": 100, **owners, "limits": {"per_user": {"gpu": 2}}},
            {"name": "short", "max_time": "2d", "tier": 80, **owners},
            {"name": "long", "max_time": "7d", "tier": 60, **owners},
            {
                "name": "{account}",
                "for_each": "lab",
                "nodes": "@compute",
                "max_time": "7d",
                "tier": 80,
                "allow_accounts": ["{account}"],
            },
            {"name": "user-overcap", "tier": 20, **_GUESTS, "deny_accounts": ["overcap"]},
            {"name": "overcap", "tier": 10, **_GUESTS, "allow_accounts": ["overcap"]},
        ],
        "access": {"keys": "homes"},
        "preemption": {"arbiter": {"partitions": ["user-overcap"], "interval": "15s"}},
        "scheduler": {
            "default_partition": "short",
            "default_memory": {"per_gpu": "24G", "per_cpu": "1G"},
            "max_memory": {"per_gpu": "32G", "per_cpu": "1G"},
            "lab_share": {"cpu": 16},
            "max_submitted_jobs": 2000,
        },
    }


def cluster(folder: Path) -> Cluster:
    """Write the inventory into a folder and return its cluster."""
    (folder / "inventory.yml").write_text(json.dumps(inventory(), indent=1))
    return load(folder)
