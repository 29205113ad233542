"""Why a value of gpupool's slurm.conf differs from the cluster's: one cause for each key."""

from gpupool.adopt.values import key_set, readable
from gpupool.slurm.keys.tables import keys, left

# a known release has these keys in its table, to refuse them with a reason
_REMOVED = key_set(
    "fastschedule accountingstorejobcomment accountingstorageloc sallocdefaultcommand cgroupreleaseagentdir"
)
# besides those of the groups of `slurm.left`; docs/adopt.md explains each cause
_SETTINGS = {
    "steps": ("rebootprogram", "resumetimeout"),
    "place": ("statesavelocation", "slurmctldhost", "include", "plugstackconfig", "accountingstoragepass"),
    "gpus": ("defcpupergpu",),
    "names": ("clustername",),
    "preemption": ("jobrequeue",),
}
_BY_SETTING = {**left("slurm_conf"), **{key: cause for cause, of in _SETTINGS.items() for key in of}}
# the group with which `check` accepts the cluster's value of a word
_FREED = {"statesavelocation": "place", "slurmctldhost": "place", "feature": "gpus"}
_BY_NODE = {
    **dict.fromkeys(("cpus", "sockets", "corespersocket", "threadspercore", "corespeccount", "cpuspeclist"), "cpus"),
    **dict.fromkeys(("gres", "feature"), "gpus"),
    **dict.fromkeys(("nodename", "nodeaddr", "nodehostname"), "names"),
    **dict.fromkeys(("realmemory", "memspeclimit"), "memory"),
    "state": "state",
}
_BY_PARTITION = {
    **left("partition"),
    "preemptmode": "preemption",
    "gracetime": "preemption",
    "oversubscribe": "preemption",
    "maxmempernode": "memory",
    "defcpupergpu": "gpus",
    "tresbillingweights": "prices",
    "nodes": "names",
    "partitionname": "names",
}
_SPELT = {"nodename": "NodeName", "nodes": "Nodes", "partitionname": "PartitionName"}
#: Each cause in words, in the order in which differences are shown.
WHY = {
    "cgroups": "gpupool keeps jobs to their CPUs, memory and GPUs by control groups",
    "steps": "gpupool sets how steps and their limits are handled",
    "configless": "nodes get their configuration from the controllers",
    "enforce": "accounts, QoS and limits are always enforced",
    "submit": "gpupool has rules for jobs at their submission",
    "order": "gpupool sets the scheduler and the scale of priorities",
    "place": "folders, ports, users, log files and slurmdbd are where gpupool has them",
    "gpus": "each GPU has a type, which is a feature of its node, too",
    "select": "gpupool has Slurm count CPUs, by core or by thread, with memory and GPUs",
    "cpus": "the language has CPUs as Slurm counts them: all threads, or all cores",
    "memory": "the language has one default and one maximum for all partitions",
    "names": "names are host names",
    "preemption": "the language has tiers that requeue or cancel",
    "limits": "a partition's limits are in the inventory; its QoS is named after it",
    "prices": "the language has prices of CPUs, memory and GPUs",
    "state": "a state is no configuration: slurmctld keeps it",
    "removed by Slurm": "this release of Slurm does not have the key or the value",
}


def spelt(section: str, key: str) -> str:
    """Return a key in Slurm's spelling."""
    if section == "gres":
        return key
    known = keys(_table(section)).get(key)
    return known.name if known else _SPELT.get(key, key)


def cause(section: str, key: str, release: str, was: str = "") -> str:
    """Return the cause of a difference.

    `section` is settings, cgroup, gres, node or partition; the key is in lower case.
    """
    if is_removed(section, key, release, was):
        return "removed by Slurm"
    if section == "settings":
        return _BY_SETTING.get(key, "other settings")
    if section in ("cgroup", "gres"):
        return {"cgroup": "cgroups", "gres": "gpus"}[section]
    return (_BY_NODE if section == "node" else _BY_PARTITION).get(key, f"other keys of a {section}")


def group(section: str, key: str, release: str, was: str) -> str:
    """Return the group of `slurm.left` that a key is in; "" if none has it, or if the release cannot read it."""
    if section == "gres":
        return "gpus"
    return "" if is_removed(section, key, release, was) else _FREED.get(key) or left(_table(section)).get(key, "")


def is_removed(section: str, key: str, release: str, was: str) -> bool:
    """Return whether a release of Slurm does not have a setting or its value; the section is as for `cause`."""
    known = keys(_table(section)).get(key) if section in ("settings", "cgroup") else None
    is_unknown = section in ("settings", "cgroup") and (known is None or not known.known_in(release))
    return is_unknown or key in _REMOVED or (section == "settings" and readable(key, was, release) != was)


def _table(section: str) -> str:
    """Return the table of keys of a section: settings are those of slurm.conf."""
    return {"settings": "slurm_conf"}.get(section, section)
