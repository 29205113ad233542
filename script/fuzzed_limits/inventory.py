"""Random partitions, QoS and accounts, as an admin would write them: limits, times, who is admitted, and defaults."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster

#: CPUs of a node by hardware.
CPUS = {"large": 64, "plain": 32}
#: GPUs of each node, and its hardware.
NODES = {
    "gpu-1": ("large", 8),
    "gpu-2": ("large", 8),
    "gpu-3": ("large", 4),
    "cpu-1": ("plain", 0),
    "cpu-2": ("plain", 0),
}
_SETS = ("gpu-1,gpu-2", "gpu-3", "gpu-1,gpu-2,gpu-3", "cpu-1,cpu-2", "gpu-1,gpu-2,gpu-3,cpu-1,cpu-2")
_TIMES = ("1h", "4h", "1d", "2d")
_PARTITIONS = 5
_ACCOUNTS = ("red", "blue", "guests")
#: The users, with their default account and further accounts.
USERS: dict[str, tuple[str, ...]] = {"ann": ("red",), "bob": ("blue", "red"), "cat": ("guests",)}


class Made:
    """A random inventory; the same seed and number give the same one."""

    def __init__(self, seed: int, number: int) -> None:
        """Choose its values."""
        self.pick = random.Random(f"limits-{seed}-{number}")
        qos = {
            "normal": {"default": True, **self._wall(0.2), **self._limits()},
            "quick": {"max_wall": self.pick.choice(_TIMES), **self._limits()},
            "chosen": {"everybody": False, **self._limits()},
        }
        partitions = [self._partition(place) for place in range(_PARTITIONS)]
        self.data: dict[str, Any] = {
            "schema": 1,
            "cluster": {"name": "limits", "domain": "limits.example", "network": "10.90.0.0/16"},
            "gpu_types": {"a40": {"models": ["A40"]}},
            "hardware": {name: {"cpus": cpus, "memory": "256G"} for name, cpus in CPUS.items()},
            "nodes": [
                {"name": "ctl", "address": "10.90.1.1", "roles": ["head", "controller", "database"]},
                *(self._node(name, row) for row, name in enumerate(NODES, 1)),
            ],
            "accounts": [self._account(name) for name in _ACCOUNTS],
            "users": [self._user(name, uid) for uid, name in enumerate(USERS, 20001)],
            "qos": qos,
            "partitions": partitions,
            "access": {"keys": "homes"},
            "scheduler": {"default_partition": self.pick.choice(partitions)["name"]},
        }

    def write(self, folder: Path) -> None:
        """Write the inventory into a folder."""
        (folder / "inventory.yml").write_text(json.dumps(self.data, indent=1))

    def cluster(self, folder: Path) -> Cluster | None:
        """Write the inventory into a folder; return its cluster, None if check refuses it."""
        self.write(folder)
        return examine(folder).cluster

    def _chance(self, share: float) -> bool:
        return self.pick.random() < share

    def _wall(self, share: float) -> dict[str, str]:
        return {"max_wall": self.pick.choice(_TIMES)} if self._chance(share) else {}

    def _limits(self) -> dict[str, Any]:
        users = {
            **({"gpu": self.pick.choice([1, 2, 6])} if self._chance(0.3) else {}),
            **({"mem": self.pick.choice(["32G", "64G"])} if self._chance(0.1) else {}),
        }
        limits = {
            **({"per_user": users} if users else {}),
            **({"per_job": {"cpu": self.pick.choice([4, 16])}} if self._chance(0.3) else {}),
        }
        return {"limits": limits} if limits else {}

    def _node(self, name: str, row: int) -> dict[str, Any]:
        hardware, gpus = NODES[name]
        node = {"name": name, "address": f"10.90.2.{row}", "roles": ["compute"], "hardware": hardware}
        return {**node, "gpus": {"a40": gpus}} if gpus else node

    def _account(self, name: str) -> dict[str, Any]:
        limits: dict[str, Any] = self._limits()
        if name != "guests":
            limits.setdefault("limits", {})["group"] = {"gpu": self.pick.choice([2, 4, 12])}
        return {"name": name, "kind": "group", **limits, **({"qos": ["chosen"]} if self._chance(0.2) else {})}

    def _user(self, name: str, uid: int) -> dict[str, Any]:
        account, *further = USERS[name]
        user: dict[str, Any] = {"name": name, "uid": uid, "account": account}
        return user | ({"accounts": further, "qos": ["chosen"]} if further else {})

    def _partition(self, number: int) -> dict[str, Any]:
        nodes, max_time = self.pick.choice(_SETS), self.pick.choice(_TIMES)
        place: dict[str, Any] = {"name": f"p{number}", "nodes": nodes, "max_time": max_time, **self._limits()}
        with_gpus = "gpu" in nodes
        if with_gpus and self._chance(0.3):
            place["without_gpu"] = "refuse"
        if with_gpus and self._chance(0.2):
            place.setdefault("limits", {})["per_job_least"] = {"gpu": 2}
        elif self._chance(0.1):
            place.setdefault("limits", {})["per_job_least"] = {"mem": "20G"}
        if self._chance(0.4):
            key = self.pick.choice(["allow_accounts", "deny_accounts"])
            place[key] = sorted(self.pick.sample(_ACCOUNTS, self.pick.choice([1, 2])))
        if self._chance(0.3):
            place["qos"] = sorted({"normal", self.pick.choice(["quick", "chosen"])})
        if self._chance(0.2) and "quick" in place.get("qos", ["quick"]):
            place["default_qos"] = "quick"
        if self._chance(0.2):
            place["lift"] = ["per_user"]
        return place


def clusters(seed: int, folder: Path) -> Iterator[tuple[int, Made, Cluster]]:
    """Yield every inventory that check accepts, with its number and its cluster; each is written into the folder."""
    number = 0
    while True:
        made = Made(seed, number)
        if cluster := made.cluster(folder):
            yield number, made, cluster
        number += 1
