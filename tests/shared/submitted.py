"""job_submit.lua run as by slurmctld: jobs with the fields of Slurm 22.05 and 24.11, in a real Lua."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from lupa import lua51, lua54

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.submit import job_submit_lua

LUAS: tuple[ModuleType, ...] = (lua51, lua54)  # Debian's slurmctld has 5.1, other builds have 5.4
REFUSED = 2050  # ESLURM_ACCOUNTING_POLICY

# slurmctld's values for "not given"; strings that are not given are nil
NO_VAL, NO_VAL16 = 0xFFFFFFFE, 0xFFFE
UNSET: dict[str, Any] = {
    **dict.fromkeys(("min_nodes", "max_nodes", "num_tasks", "max_cpus", "time_limit", "time_min"), NO_VAL),
    **dict.fromkeys(("min_cpus", "het_job_offset"), NO_VAL),
    "bitflags": 0,
    **dict.fromkeys(("shared", "ntasks_per_node", "ntasks_per_tres", "cpus_per_task", "pn_min_cpus"), NO_VAL16),
    "user_name": "ann",
    "user_id": 20001,
    "default_account": "red",
    "work_dir": "/home/ann",
}
AT_SUBMIT = {**UNSET, "script": "#!/bin/sh\n"}
SPREAD = 256

_SLURM = """
function(numbers, said, logged, informed)
  slurm = {}
  for name, number in pairs(numbers) do slurm[name] = number end
  slurm.log_user = function(...) said(string.format(...)) end
  slurm.log_error = function(...) logged(string.format(...)) end
  slurm.log_info = function(...) informed(string.format(...)) end
end
"""
_WATCHED = """
function(has, changed)
  return setmetatable({}, {
    __index = function(_, name) return has[name] end,
    __newindex = function(_, name, value)
      if value == nil then error("bad argument #3 to '?' (string expected, got nil)") end
      has[name] = value; changed[name] = value end,
  })
end
"""


def _cpus(fields: Mapping[str, Any]) -> int:
    """Return the minimum number of CPUs that sbatch sends: one for each task, or the CPUs of each task."""
    each_node = fields.get("ntasks_per_node", 1) * fields.get("min_nodes", 1)
    return int(fields.get("num_tasks", each_node) * fields.get("cpus_per_task", 1))


@dataclass
class Answer:
    """The result of a job: accepted or not, the message to its user, the changed fields except `nice`, the log."""

    accepted: bool
    told: list[str] = field(default_factory=list)
    set: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    logged: list[str] = field(default_factory=list)
    nice: float | None = None


class Plugin:
    """A job_submit.lua in a separate Lua; partitions with their maximum time in minutes, the first is the default."""

    def __init__(self, text: str, lua: ModuleType = lua51, partitions: Mapping[str, int] | None = None) -> None:
        self.lua = lua.LuaRuntime(unpack_returned_tuples=True)
        self.told: list[str] = []
        self.logged: list[str] = []
        informed: list[str] = []
        numbers = {
            "SUCCESS": 0,
            "ERROR": -1,
            "ESLURM_ACCOUNTING_POLICY": REFUSED,
            "JOB_SHARED_NONE": 0,
            "SPREAD_JOB": SPREAD,
        }
        numbers |= {"NO_VAL": NO_VAL, "NO_VAL16": NO_VAL16, "INFINITE": 0xFFFFFFFF}
        floats = {name: float(number) for name, number in numbers.items()}  # lua_pushnumber
        self.lua.eval(_SLURM)(self.lua.table_from(floats), self.told.append, self.logged.append, informed.append)
        self.loaded = self.lua.execute(text)
        #: the names of the rules in use, as in slurmctld's log
        self.rules = informed[0].partition(": ")[2].split(", ")
        self.partitions = self.lua.table()
        for order, (name, minutes) in enumerate((partitions or {"short": 2880}).items()):
            self.partitions[name] = self.lua.table_from({"max_time": minutes, "flag_default": int(order == 0)})

    def submit(self, uid: int = 20001, environment: Mapping[str, str] | None = None, **fields: Any) -> Answer:
        """Return the result of a new job with these fields."""
        return self._ask("slurm_job_submit", uid, {**AT_SUBMIT, "min_cpus": _cpus(fields), **fields}, None, environment)

    def modify(self, change: Mapping[str, Any], record: Mapping[str, Any], uid: int = 20001) -> Answer:
        """Return the result of a change to a job with these fields."""
        return self._ask("slurm_job_modify", uid, {**UNSET, "work_dir": None, **change}, record)

    def _ask(
        self,
        function: str,
        uid: int,
        fields: Mapping[str, Any],
        record: Mapping[str, Any] | None,
        environment: Mapping[str, str] | None = None,
    ) -> Answer:
        watched = self.lua.eval(_WATCHED)
        changed, exported = self.lua.table(), self.lua.table()
        has = self._table(fields)
        has["environment"] = watched(self._table(environment or {}), exported)
        arguments = [watched(has, changed)] + ([self._table(record)] if record is not None else [])
        self.told.clear()
        self.logged.clear()
        code = self.lua.globals()[function](*arguments, self.partitions, float(uid))
        assert code in (0, REFUSED)
        fields_set = dict(changed)
        nice = fields_set.pop("nice", None)
        return Answer(code == 0, [*self.told], fields_set, dict(exported), [*self.logged], nice)

    def _table(self, fields: Mapping[str, Any]) -> Any:
        numbers = (int, float)
        values = {
            name: float(value) if isinstance(value, numbers) else value
            for name, value in fields.items()
            if value is not None
        }
        return self.lua.table_from(values)


PARTITIONS = {"short": 2880, "long": 10080, "debug": 240}
POOL = """
schema: 1
cluster: {name: pool, domain: pool.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}, 2080_ti: {models: [RTX 2080 Ti]}, h100: {models: [H100]}}
hardware: {box: {cpus: 64, memory: 512G, gpu_slots: 8}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: n1, address: 10.90.2.1, roles: [compute], hardware: box, gpus: {a40: 8}}
  - {name: n2, address: 10.90.2.2, roles: [compute], hardware: box, gpus: {2080_ti: 8}}
accounts:
  - {name: red, kind: lab, gid: 5001, contributed_gpus: 10}
  - {name: blue, kind: lab, gid: 5002, contributed_gpus: 6}
  - {name: overcap, kind: shared, members: all}
users:
  - {name: ann, uid: 20001, account: red, default_partition: debug}
  - {name: bob, uid: 20002, account: blue}
qos:
  normal: {default: true}
  short: {max_wall: 2d}
  long: {max_wall: 7d}
  limited: {default_for: [red], REPLACES everybody: false, limits: {per_user: {gpu: 4}}}
partitions:
  - {name: short, nodes: "@compute", max_time: 2d, tier: 10, deny_accounts: [overcap]}
  - {name: long, nodes: "@compute", max_time: 7d, tier: 10, deny_accounts: [overcap]}
  - {name: red-only, nodes: "@compute", max_time: 7d, tier: 10, allow_accounts: [red]}
  - {name: overcap, nodes: "@compute", max_time: 2d, tier: 1, preemptable: true, grace: 1m, allow_accounts: [overcap]}
  - {name: debug, nodes: "@compute", max_time: 4h, tier: 20, deny_accounts: [overcap]}
testbed: {nodes: "ctl,n1"}
access: {keys: homes}
"""
MEMORY = "default_memory: {per_gpu: 30G, per_cpu: 1G}"
ALL = f"""{MEMORY}, max_memory: {{per_gpu: 45G, per_cpu: 4G}}, untyped_gpus: refuse, export_fix: true,
  warn_cpus_per_gpu: {{default: 7, a40: 15}}, refuse_submit_from: [/prj]"""
REPLACES = "replaces: [normal, short, long],"


def pool(
    folder: Path,
    scheduler: str = "",
    *,
    replaces: str = "",
    where: str = "short",
    instead: Mapping[str, str] = MappingProxyType({}),
) -> Cluster:
    """Return the cluster of a small inventory with these keys of `scheduler`, and some texts replaced."""
    # a default for all jobs, which is only in slurm.conf
    memory = "" if "default_memory" in scheduler else "default_memory: {per_node: 60G}, "
    text = POOL.replace("REPLACES", replaces) + f"scheduler: {{default_partition: {where}, {memory}{scheduler}}}\n"
    for old, others in instead.items():
        assert old in text
        text = text.replace(old, others)
    (folder / "inventory.yml").write_text(text)
    return load(folder)


def plugin(folder: Path, scheduler: str = "", luas: ModuleType = LUAS[0], **more: Any) -> Plugin:
    """Return the plugin of that cluster, loaded."""
    text = job_submit_lua(pool(folder, scheduler, **more))
    assert text is not None
    return Plugin(text, luas, PARTITIONS)
