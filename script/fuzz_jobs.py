"""Random jobs, with the fields that slurmctld passes to a submit plugin and the names of a cluster."""

import random
from typing import Any

from submitted import NO_VAL, NO_VAL16

from gpupool.cluster.model import Cluster


class Jobs:
    """Random jobs, with the names of a cluster."""

    def __init__(self, cluster: Cluster, pick: random.Random) -> None:
        """Set the names that jobs use."""
        self.pick = pick
        self.types = [*cluster.gpu_types, "t4"]
        self.names = {
            "partition": [*cluster.partitions, "nowhere"],
            "account": [*cluster.accounts, *(name.upper() for name in cluster.accounts), "unknown"],
            "qos": [*cluster.qos, *(name.upper() for name in cluster.qos), "normal"],
            "user_name": [*cluster.users, "stranger"],
        }

    def submitted(self) -> dict[str, Any]:
        """Return the fields of a new job that differ from slurmctld's presets."""
        share = self.pick.choice([0.05, 0.18])  # jobs with few fields reach the last rules
        fields = {name: value() for name, value in self._values().items() if self.pick.random() < share}
        asked = [name for name in fields if name.startswith("tres_per_")]
        for name in asked[1:]:  # most jobs request GPUs in one form
            if self.pick.random() < 0.8:
                del fields[name]
        return {"user_name": self._of("user_name"), "default_account": self._of("account"), **fields}

    def changed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a change of a job and the job. slurmctld passes no user with a change."""
        values = self._values()
        for name in ("user_name", "default_account", "script"):
            values.pop(name, None)
        change = {name: values[name]() for name in self.pick.sample(sorted(values), self.pick.randint(1, 4))}
        states = {"job_state": self.pick.choice([0, 0, 1, 256]), "het_job_id": self.pick.choice([0, 0, 0, 7])}
        record = {"het_job_offset": 0, "work_dir": "/home/ann", **states, **self.submitted()}
        return {"user_name": None, "default_account": None, **change}, record

    def _of(self, kind: str) -> str:
        return self.pick.choice(self.names[kind])

    def _list(self, kind: str) -> str:
        return ",".join(self._of(kind) for _ in range(self.pick.choice([1, 1, 1, 2, 3])))

    def _number(self, *usual: int) -> int:
        unusual = [0, 1, NO_VAL, NO_VAL16, 2**32 - 1, self.pick.randint(0, 2**32 - 1)]
        return self.pick.choice(usual if self.pick.random() < 0.93 else unusual)

    def _gpus(self) -> str:
        words = []
        for _ in range(self.pick.choice([1, 1, 1, 2])):
            start, kind = self.pick.choice(["gres/gpu", "gres:gpu", "gpu"]), self.pick.choice([*self.types, ""])
            sign, number = self.pick.choice(":::="), self.pick.choice(["", "0", "1", "1", "2", "4", "8", "12"])
            words.append(start + (f":{kind}" if kind else "") + (f"{sign}{number}" if number else ""))
        return self.pick.choice(["", "cpu=3,", "", "gres/shard:1,", "", ""]) + ",".join(words)

    def _values(self) -> dict[str, Any]:
        def number(*usual: int) -> Any:
            return lambda: self._number(*usual)

        def text(*usual: str) -> Any:
            return lambda: self.pick.choice(usual)

        gib = 1024
        return {
            "partition": lambda: self.pick.choice([self._list("partition"), self._list("partition"), "", ","]),
            "account": lambda: self.pick.choice([self._of("account"), self._of("account"), ""]),
            "qos": lambda: self.pick.choice([self._list("qos"), self._list("qos"), ""]),
            "default_qos": lambda: self._of("qos"),
            **dict.fromkeys(("tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"), self._gpus),
            "features": lambda: self.pick.choice(["|", "&", ","]).join(self.pick.sample(self.types, 1)),
            "work_dir": text("/prj", "/prj/x", "/prj2", "/home/ann", ""),
            "script": text("#!/bin/sh\n"),
            "cpus_per_tres": text("gres/gpu:4", "gres:gpu:8", "gres/gpu:16", "gres/gpu:x", ""),
            "mem_per_tres": text("gres/gpu:4096", "gres/gpu:65536", "gres:gpu:0", "gres/gpu:8K", ""),
            "min_mem_per_node": number(0, gib, 32 * gib, 90 * gib, 400 * gib),
            "min_mem_per_cpu": number(0, gib, 4 * gib, 8 * gib, 44 * gib),
            "min_cpus": number(1, 2, 8, 30),
            "pn_min_cpus": number(1, 4, 8, 16),
            "cpus_per_task": number(1, 2, 3, 7, 8, 15, 16, 64),
            "num_tasks": number(1, 2, 3, 8, 64),
            "ntasks_per_node": number(0, 1, 2, 7, 8),
            "ntasks_per_tres": number(1, 2, 8),
            "min_nodes": number(1, 1, 2, 8),
            "max_nodes": number(0, 1, 2, 8),
            "time_limit": number(1, 10, 60, 1440, 4000, 20000),
            "shared": number(0, 0, 1, 2, 3),
            "bitflags": number(0, 0, 1, 2, 256, 512, 768),
            "het_job_offset": number(0, 1),
            "nice": number(0x80000000, 0x80000005, 0x7FFFFF00),
            "mail_type": number(0, 14),
            "array_inx": text("1-11", "0-40:4,50%2", "7", "x", ""),
        }
