"""Random `parameters` of an inventory: Slurm's own keys with values that slurmctld takes."""

from random import Random
from typing import Any

from gpupool.slurm.keys.tables import keys, own
from gpupool.slurm.releases import Tested

# values of text keys, by table; keys that are not here are left out
_TEXTS: dict[str, dict[str, tuple[str, ...]]] = {
    "node": {"CpuBind": ("core", "none"), "Reason": ("new here", "x"), "TRESWeights": ("CPU=1.0,Mem=0.25G",)},
    "partition": {
        "AllocNodes": ("ctl", "ALL"),
        "CpuBind": ("core", "thread"),
        "OverSubscribe": ("NO", "EXCLUSIVE", "FORCE:2", "YES:4"),
        "SuspendTime": ("300", "INFINITE"),
        "State": ("UP", "DRAIN", "INACTIVE"),
    },
    "cgroup": {"AllowedDevicesFile": ("/etc/slurm/allowed",)},
    "slurm_conf": {
        "BcastExclude": ("/lib,/usr/lib",),
        "CpuFreqGovernors": ("OnDemand,Performance", "Performance"),
        "DebugFlags": ("Backfill,Gres", "Power"),
        "JobAcctGatherFrequency": ("30", "task=15,energy=60"),
        "JobAcctGatherParams": ("NoShared", "UsePss"),
        "JobAcctGatherType": ("jobacct_gather/cgroup", "jobacct_gather/none"),
        "LaunchParameters": ("use_interactive_step", "slurmstepd_memlock,test_exec"),
        "Licenses": ("matlab:4", "a:1,b:2"),
        "LogTimeFormat": ("iso8601_ms", "short"),
        "MailDomain": ("example.org",),
        "MpiDefault": ("none", "pmi2"),
        "PreemptExemptTime": ("00:10:00",),
        "PriorityFlags": ("MAX_TRES", "FAIR_TREE,CALCULATE_RUNNING", "NO_FAIR_TREE"),
        "PriorityMaxAge": ("14-0", "1-12:00:00"),
        "ReconfigFlags": ("KeepPartState",),
        "RequeueExit": ("1-3,9",),
        "SchedulerParameters": ("bf_window=2880,bf_max_job_user=50", "defer", "nohold_on_prolog_fail,max_rpc_cnt=100"),
        "SlurmctldDebug": ("debug", "verbose"),
        "SlurmctldParameters": ("idle_on_node_suspend", "max_dbd_msg_action=exit"),
        "SrunPortRange": ("60001-63000",),
        "TaskPluginParam": ("autobind=cores", "Verbose"),
        "TmpFS": ("/local", "/var/tmp"),
        "TopologyParam": ("RouteTree", "TopoOptional"),
        "X11Parameters": ("home_xauthority",),
    },
}
# keys that are left out: they refer to something missing on the test's machine, or end slurmctld
_NOT = frozenset(("maxnodecount", "slurmdport", "accountingstorageport", "jobcompport", "port", "boards", "usepam"))


def parameters(pick: Random, table: str, most: int, version: Tested) -> dict[str, Any]:
    """Return up to `most` keys of a table that a release of Slurm has, with random values."""
    found: dict[str, Any] = {}
    taken = {low for low, rows in own(table).items() if any(not row.option and not row.when for row in rows)}
    names = [key for low, key in keys(table).items() if key.known_in(version) and low not in taken | _NOT]
    for key in pick.sample(names, pick.randint(1, most)):
        if key.value == "number":
            found[key.name] = pick.choice([0, 1, 2, 10, 100, 3600])
        elif key.value == "ratio":
            found[key.name] = pick.choice([10, 50.5, 100])
        elif key.value == "yes or no":
            found[key.name] = pick.random() < 0.5
        elif texts := _TEXTS.get(table, {}).get(key.name):
            found[key.name] = pick.choice(texts)
    return found


def limits_in_own_words(pick: Random, table: str) -> dict[str, Any]:
    """Return two limits of an association or a QoS for which the language has no words."""
    words: tuple[tuple[str, Any], ...] = (
        (("GrpJobsAccrue", 20), ("GrpTRESRunMins", "cpu=100000"), ("MaxTRESMins", "cpu=5000"))
        if table == "association"
        else (("UsageFactor", "0.5"), ("Flags", "NoReserve"), ("MaxTRESRunMinsPA", "cpu=100000"), ("MinPrioThresh", 5))
    )
    return dict(pick.sample(words, 2))
