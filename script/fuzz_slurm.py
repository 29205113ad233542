"""Random inventories with everything that Slurm has to read: nodes, GPUs, accounts, QoS, partitions, `parameters`."""

import json
import random
from pathlib import Path
from typing import Any

from fuzz_parameters import limits_in_own_words, parameters

from gpupool.slurm.releases import DEFAULT, Tested

_KINDS = ("lab", "shared", "department", "group", "project")
_NAMES = ("a", "gpu", "n1x", "dgx-a", "r_1", "all", "x.y", "normals", "lives9", "long-name_of.many-signs")


class Made:
    """A random inventory for a release of Slurm; the same seed and number give the same one."""

    def __init__(self, seed: int, number: int, version: Tested = DEFAULT) -> None:
        """Choose its values."""
        self.version = version
        self.pick = random.Random(f"slurm-{seed}-{number}")
        self.cores = self._chance(0.25)  # whether jobs get whole cores
        self.types = self._types()
        self.hardware = {f"box{n}": self._hardware() for n in range(self.pick.randint(1, 3))}
        self.nodes = self._nodes()
        self.gpus: dict[str, int] = {}
        for node in self.nodes[1:]:
            for gpu, count in node.get("gpus", {}).items():
                self.gpus[gpu] = self.gpus.get(gpu, 0) + count * node.pop("_many", 1)
            node.pop("_many", None)
        self.accounts = self._accounts()
        names = [account["name"] for account in self.accounts]
        self.qos = self._qos(names)
        self.partitions = self._partitions(names)
        if len(self.qos) > 1 and self._chance(0.3):
            self._preempt_by_qos()

    def data(self) -> dict[str, Any]:
        """Return the contents of its file."""
        found: dict[str, Any] = {
            "schema": 1,
            "cluster": self._cluster(),
            "gpu_types": self.types,
            "hardware": self.hardware,
            "nodes": self.nodes,
            "accounts": self.accounts,
            "users": self._users(),
            "access": {"keys": "homes"},
            "qos": self.qos,
            "partitions": self.partitions,
            "preemption": self._preemption(),
            "scheduler": self._scheduler(),
            "slurm": self._slurm(),
            "environment": self._environment(),
            "gpu": {"constrain_devices": self._chance(0.8)},
        }
        return {key: value for key, value in found.items() if value not in ({}, [])}

    def _chance(self, share: float) -> bool:
        return self.pick.random() < share

    def _some(self, **values: Any) -> dict[str, Any]:
        """Return some of these values; a function is called for its value."""
        share = self.pick.random() / 2
        return {key: value() if callable(value) else value for key, value in values.items() if self._chance(share)}

    def _environment(self) -> dict[str, Any]:
        found: dict[str, Any] = {"private_tmp": "/local/jobs"} if self._chance(0.1) else {}
        return found | ({"job_directory": {"path": "/local/own"}} if self._chance(0.2) else {})

    def _cluster(self) -> dict[str, Any]:
        names = self.pick.choice(["short", "short", "fqdn"])
        return {"name": "made", "domain": "made.example", "network": "10.90.0.0/16", "node_names": names}

    def _types(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self.pick.sample(("a40", "h100", "v100_32g", "T4", "gtx-1080.ti"), self.pick.randint(0, 3)):
            found[name] = {"models": ["X"], **self._some(memory="48G")}
        if "h100" in found and self._chance(0.4):
            found["h100_1g.10gb"] = {"models": ["X"], "mig": {"of": "h100", "profile": "1g.10gb"}, "autodetect": "nvml"}
        if self._chance(0.2):
            found["mi210"] = {"models": ["X"], "vendor": "amd", **self._some(autodetect="rsmi")}
        if self._chance(0.1):
            found["pvc"] = {"models": ["X"], "vendor": "intel", **self._some(autodetect="oneapi")}
        return found

    def _hardware(self) -> dict[str, Any]:
        sockets, cores, threads = (
            self.pick.choice([1, 2, 4]),
            self.pick.choice([2, 8, 24, 64]),
            self.pick.choice([1, 2]),
        )
        found: dict[str, Any] = {"cpus": sockets * cores * threads}
        if self.cores or self._chance(0.6):
            found |= {"sockets": sockets, "cores": cores, "threads": threads}
        memory = self.pick.choice(["64G", "512G", "2T"])
        found["real_memory" if self._chance(0.3) else "memory"] = memory
        kept = {"cores_kept": 1} if "cores" in found else {}
        return found | self._some(
            **kept,
            memory_kept=lambda: self.pick.choice(["2G", "8G"]),
            local_disk=lambda: self.pick.choice(["500G", "3.5T"]),
            cpus_kept_per_gpu=lambda: self.pick.choice([2, 4]),
            arch=lambda: self.pick.choice(["x86_64", "aarch64"]),
            weight=lambda: self.pick.choice([0, 1, 10, 1_000_000_000]),
            parameters=lambda: parameters(self.pick, "node", 2, self.version),
        )

    def _nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            {"name": "ctl", "address": "10.90.1.1", "roles": ["head", "controller", "database"]}
        ]
        for row in range(self.pick.randint(1, 4)):
            many = self.pick.choice([1, 1, 2, 5, 12])
            width = self.pick.choice([0, 0, 2, 3])
            name = f"{self.pick.choice('abxyz')}{row}{self.pick.choice(['-', 'n'])}"
            spans = f"[{1:0{width}}-{many:0{width}}]" if many > 1 else self.pick.choice(["1", "x"])
            gpus = {
                model: self.pick.randint(1, 8)
                for model in self.pick.sample(sorted(self.types), min(2, len(self.types)))
            }
            # types that slurmd detects itself are alone on their nodes, or with slices of the same type
            gpus = dict(list(gpus.items())[: self.pick.choice([0, 1, 1, 1, 2])])
            node = {
                "name": f"{name}{spans}",
                "address": f"10.90.{row + 2}.[1-{many}]" if many > 1 else f"10.90.{row + 2}.1",
                "roles": ["compute"],
                **self._machine(),
                "_many": many,
                **({"gpus": gpus} if gpus else {}),
            }
            found.append(
                node
                | self._some(
                    features=lambda: self.pick.sample(("quiet", "ib", "rack.7", "x-1"), 2),
                    gres=lambda: {self.pick.choice(["scratch", "fpga"]): self.pick.choice([1, 500, 2_000_000])},
                    parameters=lambda: parameters(self.pick, "node", 1, self.version),
                    **({"gpu_memory": {next(iter(gpus)): "80G"}} if gpus else {}),
                )
            )
        return found

    def _machine(self) -> dict[str, Any]:
        """Return a node's entry of hardware, or the keys of one, or both."""
        name = self.pick.choice(sorted(self.hardware))
        if self._chance(0.7):
            return {"hardware": name, **({"weight": 7} if self._chance(0.2) else {})}
        own = (key for key in self.hardware[name] if key not in ("gpu_slots", "parameters"))
        return {key: self.hardware[name][key] for key in own}

    def _accounts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        left = dict(self.gpus)
        own_nodes = [node["name"] for node in self.nodes[1:]]
        for name in self.pick.sample(_NAMES, self.pick.randint(1, 5)):
            kind = self.pick.choice(_KINDS)
            account: dict[str, Any] = {"name": name, "kind": kind, "gid": 5001 + len(found)}
            if kind == "lab":
                form = self.pick.choice(["number", "number", "types", "nodes", "cpus"])
                if form == "types" and left:
                    gpu = self.pick.choice(sorted(left))
                    count = self.pick.randint(0, left[gpu])
                    left[gpu] -= count
                    account["owns"] = {gpu: count}
                elif form == "nodes" and own_nodes and self._chance(0.4):
                    account["owns"] = own_nodes.pop()
                elif form == "cpus":
                    account["owns"] = {"cpu": self.pick.randint(1, 4)}
                else:
                    most = sum(left.values()) // 2
                    account["contributed_gpus"] = self.pick.randint(0, most)
            elif self._chance(0.5):
                account["limits"] = {"group": {"gpu": 0}}
            parents = [account["name"] for account in found if account["kind"] != "lab"]
            found.append(
                account
                | self._some(
                    fairshare=lambda: self.pick.randint(0, 100),
                    parameters=lambda: limits_in_own_words(self.pick, "association"),
                    **({"parent": self.pick.choice(parents)} if parents and kind != "lab" else {}),
                    **({"members": "all"} if kind == "shared" else {}),
                )
            )
        return found

    def _users(self) -> list[dict[str, Any]]:
        users = []
        for index, account in enumerate(self.accounts):
            users.append({"name": f"u{index}", "uid": 20001 + index, "account": account["name"]})
        return users

    def _amounts(self, *which: str) -> dict[str, Any]:
        values: dict[str, Any] = {
            "gpu": self.pick.randint(0, 8),
            "cpu": self.pick.randint(1, 64),
            "mem": self.pick.choice(["16G", "100G", "1.5T"]),
            "nodes": self.pick.randint(1, 3),
            "jobs": self.pick.randint(1, 50),
            "submitted": self.pick.randint(50, 500),
            "wall": self.pick.choice(["2h", "14d", "2-12:00:00"]),
            "billing": self.pick.randint(1, 1_000_000),
        }
        return self._some(**{key: values[key] for key in which})

    def _limits(self) -> dict[str, Any]:
        return {
            key: value
            for key, value in {
                "per_user": self._amounts("gpu", "cpu", "mem", "nodes", "jobs", "submitted"),
                "per_job": self._amounts("gpu", "cpu", "mem", "nodes"),
                "per_job_least": self._amounts("cpu", "nodes"),
                "group": self._amounts("jobs", "submitted"),
            }.items()
            if value
        }

    def _qos(self, accounts: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {"normal": {"default": True}}
        for name in self.pick.sample(_NAMES, self.pick.randint(0, 3)):
            found[name.lower()] = self._some(
                everybody=False,
                max_wall=lambda: self.pick.choice(["30m", "4h", "14d"]),
                priority=lambda: self.pick.choice([0, 1, 100, 100_000]),
                limits=self._limits,
                over_limit="wait",
                default_for=lambda: [self.pick.choice(accounts)],
                parameters=lambda: limits_in_own_words(self.pick, "qos"),
            )
        return found

    def _partitions(self, accounts: list[str]) -> list[dict[str, Any]]:
        found = []
        labs = [account["name"] for account in self.accounts if account["kind"] == "lab"]
        rows = [node["name"] for node in self.nodes[1:]]
        for index in range(self.pick.randint(1, 4)):
            preemptable = index > 0 and self._chance(0.5)
            nodes = self.pick.choice(["@compute", "@compute", *rows, ",".join(rows)])
            partition: dict[str, Any] = {
                "name": self.pick.choice(["p", "Short", "x_1", "a.b", "d@e"]) + str(index),
                "nodes": nodes,
                "max_time": self.pick.choice(["4h", "2d", "14d", "1-00:30:00"]),
                "tier": self.pick.randint(1, 9) if preemptable else self.pick.randint(10, 99),
            }
            if preemptable:
                partition |= {"preemptable": True, **self._ways("requeue", "cancel", "suspend")}
            elif labs and self._chance(0.8):
                partition["allow_accounts"] = labs
            elif self._chance(0.3):
                partition["deny_accounts"] = [self.pick.choice(accounts)]
            found.append(
                partition
                | self._some(
                    default_time=lambda: self.pick.choice(["10m", "1h"]),
                    max_nodes=lambda: self.pick.randint(1, 2),
                    limits=self._limits,
                    lift=["per_user"],
                    billing=lambda: self._some(cpu=0.1, gpu=8.0, mem=0.25),
                    qos=lambda: ["normal", *self.pick.sample(sorted(self.qos), 1)],
                    users="assigned",
                    without_gpu="refuse",
                    priority=lambda: self.pick.choice([0, 1, 10, 65_000]),
                    exclusive=lambda: self.pick.choice(["job", "user"]),
                    default_qos=lambda: self.pick.choice(sorted(self.qos)),
                    default_cpus_per_gpu=lambda: self.pick.randint(1, 4),
                    parameters=lambda: parameters(self.pick, "partition", 3, self.version),
                )
            )
        return found

    def _cpus_by_type(self) -> dict[str, int]:
        return {"default": self.pick.randint(1, 4), **dict.fromkeys(sorted(self.gpus)[:1], self.pick.randint(1, 4))}

    def _preempt_by_qos(self) -> None:
        """Make preemptable partitions so by a QoS that all others preempt."""
        guest = self.pick.choice([name for name in self.qos if name != "normal"])
        for name, qos in self.qos.items():
            qos |= {"preempts": [guest]} if name != guest else {"preemptable": True, **self._ways("requeue", "cancel")}
        for partition in self.partitions:
            if partition.pop("preemptable", False):
                partition["qos"] = [guest]
                partition.pop("grace", None)
                partition.pop("preempt_action", None)

    def _ways(self, *actions: str) -> dict[str, Any]:
        return self._some(
            grace=lambda: self.pick.choice(["30s", "5m"]), preempt_action=lambda: self.pick.choice(actions)
        )

    def _preemption(self) -> dict[str, Any]:
        return self._some(
            action=lambda: self.pick.choice(["requeue", "cancel"]), send_user_signal=False, requeue_delay="2m"
        )

    def _scheduler(self) -> dict[str, Any]:
        memory = self.pick.choice([{"per_gpu": "4G", "per_cpu": "500M"}, {"per_cpu": "500M"}, {"per_node": "4G"}, {}])
        types = any("owns" in account and isinstance(account["owns"], dict) for account in self.accounts)
        return {
            "default_partition": self.pick.choice([self.partitions[0]["name"], "none", "fit"]),
            **({"default_memory": memory} if memory else {}),
            **({"allocate": "core", **self._some(one_task_per_core=True)} if self.cores else {}),
            **({"untyped_gpus": "refuse"} if types or self._chance(0.2) else {}),
            **self._some(
                enforce_limits="all",
                export_fix=True,
                default_time="1h",
                over_limit="wait",
                max_submitted_jobs=lambda: self.pick.choice([10, 2000, 100_000]),
                private_data=["jobs", "usage"],
                fairshare="accounts",
                rpc_limit={"bucket": 30, "refill": 2},
                refuse_submit_from=["/prj"],
                lab_share={"cpu": 4},
                default_cpus_per_gpu=lambda: self.pick.choice([self.pick.randint(1, 4), self._cpus_by_type()]),
                max_cpus_per_gpu=lambda: {"default": 8, **dict.fromkeys(sorted(self.gpus)[:1], 16)},
                priority_weights=lambda: self._some(qos=1000, partition=1000, age=100, fairshare=5000, job_size=1),
                max_memory=lambda: self.pick.choice([{"per_gpu": {"default": "60G"}}, {"per_cpu": "4G"}]),
            ),
        }

    def _slurm(self) -> dict[str, Any]:
        release = {} if self.version == DEFAULT else {"version": self.version}
        return release | self._some(
            memory_reserve="5%",
            controller_timeout="1m",
            health={"enabled": True, "interval": "10m"},
            parameters=lambda: parameters(self.pick, "slurm_conf", 6, self.version),
            cgroup=lambda: {"parameters": parameters(self.pick, "cgroup", 3, self.version)},
        )


def case(seed: int, number: int, folder: Path, version: Tested = DEFAULT) -> None:
    """Write the inventory of a number into a folder."""
    (folder / "inventory.yml").write_text(json.dumps(Made(seed, number, version).data(), indent=1))
