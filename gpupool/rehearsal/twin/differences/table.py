"""The table of differences: settings that a container cannot have, and times that would make a rehearsal take days.

Partitions, tiers, QoS, associations, limits and preemption stay unchanged, except the length of grace times (QoS
have theirs in slurmdbd, where `short_graces` cuts them).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm import arbiter
from gpupool.compile.slurm.gres import V1_MOUNT, stand_ins
from gpupool.rehearsal.twin.differences import Difference
from gpupool.rehearsal.twin.differences.text import Change
from gpupool.slurm.hostlists import expand, fold
from gpupool.slurm.releases import Tested, cgroup_plugin, has

GRACE = 2  # maximum grace time in seconds
CRED_EXPIRE = 5  # seconds; a requeued job waits one second more
INTERVAL = 2  # maximum seconds between two looks of the arbiter
KILL_WAIT = 3  # seconds from SIGTERM to SIGKILL
FIRST_PORT = 17001  # of the first slurmd; each has its own port

_PROGRAMS = (
    *("Prolog", "Epilog", "TaskProlog", "UnkillableStepProgram"),
    *("HealthCheckProgram", "HealthCheckInterval", "HealthCheckNodeState"),
)
_SLEEP = (
    *("SuspendTime", "SuspendTimeout", "SuspendRate", "SuspendExcNodes", "SuspendProgram", "ResumeFailProgram"),
    *("ResumeRate", "ResumeProgram"),
)
_NAMESPACES = ("JobContainerType", "NamespaceType")
_SLURM = "/etc/slurm/slurm.conf"
_GRES = "/etc/slurm/gres.conf"
_CGROUP = "/etc/slurm/cgroup.conf"
_DATABASE = "/etc/mysql/*"


@dataclass(frozen=True)
class Place:
    """Properties of a twin: the container's host name, the port of each node's slurmd, Slurm's version.

    `gpus` maps lines of gres.conf with AutoDetect to lines with device files that replace them.
    """

    host: str
    ports: Mapping[str, int]
    version: Tested
    gpus: Mapping[str, list[str]] = field(default_factory=dict)


def place_of(cluster: Cluster, version: Tested) -> Place:
    """Return the properties of a cluster's twin."""
    nodes = [node.slurm_name for node in cluster.having("compute")]
    return Place(
        cluster.controllers[0].name, {name: FIRST_PORT + n for n, name in enumerate(nodes)}, version, stand_ins(cluster)
    )


def differences(place: Place) -> tuple[Difference, ...]:
    """Return all differences between the twin's files and production's."""
    return (*_whole(), *_hosts(place), *_paths(), *_processes(), *_times(), *_cgroups(place), *_gpus(place), *_data())


def _whole() -> tuple[Difference, ...]:
    def gone(file: str, why: str) -> Difference:
        return Difference(file, "", "a file", "none", why, lambda value, _: value)

    return (
        gone("/etc/hostname", "one machine runs all nodes; it has the controller's name"),
        gone("/etc/hosts", "the same names and addresses, all of them this machine's"),
        gone("/etc/ssh/*", "there are no logins"),
        gone("/etc/systemd/*", "daemons are started without systemd"),
        gone("/etc/default/*", "slurmd and sackd find slurm.conf beside them"),
        gone("/etc/slurm/gpupool/*", "slurmds share a machine, so nodes would share the notes of jobs"),
        gone("/etc/slurm/job_container.conf", "a container without rights over mounts"),
        gone("/etc/tmpfiles.d/*", "device files are created once, as many as any node has"),
    )


def _hosts(place: Place) -> tuple[Difference, ...]:
    def nodes(key: str, production: str, twin: str, why: str, change: Change) -> Difference:
        return Difference(_SLURM, f"NodeName {key}", production, twin, why, change)

    return (
        Difference(
            _SLURM,
            "SlurmctldHost",
            "controller and backups",
            "the controller",
            "one slurmctld runs; a backup on the same machine would stop it",
            lambda value, number: value if number == "0" else None,
            needed=True,
        ),
        nodes("NodeHostname", "the node's", "the twin's", "one machine runs all nodes", lambda *_: place.host),
        nodes("Port", "6818", "one per node", "slurmds share a machine", partial(_ports, place.ports)),
        nodes("State", "CLOUD of elastic nodes", "UNKNOWN", "all nodes are always powered on", _always_there),
    )


def _paths() -> tuple[Difference, ...]:
    own = "slurmds share a machine: each has its own"
    return (
        Difference(_SLURM, "SlurmdSpoolDir", "one", "…/%n", own, lambda *_: "/var/spool/slurmd/%n", needed=True),
        Difference(
            _SLURM, "SlurmdLogFile", "one", "…-%n.log", own, lambda value, _: _of_node(value or ""), needed=True
        ),
        Difference(_SLURM, "SlurmdPidFile", "Slurm's own", "…-%n.pid", own, lambda *_: "/run/slurmd-%n.pid"),
    )


def _processes() -> tuple[Difference, ...]:
    def other(key: str, production: str, twin: str | None, why: str, *, needed: bool = True) -> Difference:
        return Difference(_SLURM, key, production, twin or "none", why, lambda *_: twin, needed)

    fence = (
        "a container without rights over control groups: jobs are not confined to their GPUs, only the scheduler is "
        "tested"
    )
    return (
        other("ProctrackType", "proctrack/cgroup", "proctrack/linuxproc", fence),
        other("TaskPlugin", "task/cgroup", "task/none", fence),
        other("JobAcctGatherType", "jobacct_gather/linux", "jobacct_gather/none", "hundreds of jobs share a few cores"),
        other("PrologFlags", "Contain", None, "no step for ssh sessions: there are no logins", needed=False),
        *(other(key, "a program", None, "this machine is not a node", needed=False) for key in _PROGRAMS),
        *(other(key, "of elastic nodes", None, "all nodes are always powered on", needed=False) for key in _SLEEP),
        *(other(key, "tmpfs", None, "a container without rights over mounts", needed=False) for key in _NAMESPACES),
        Difference(
            _SLURM,
            "SlurmdParameters",
            "",
            "config_overrides",
            "nodes have the CPUs and the memory of the inventory, not of this machine",
            partial(_with, "config_overrides"),
        ),
    )


def _times() -> tuple[Difference, ...]:
    return (
        Difference(
            _SLURM,
            "PartitionName GraceTime",
            "as in the inventory",
            f"at most {GRACE} s",
            "so that a rehearsal takes minutes; the shape of a preemption is the same",
            _short_grace,
        ),
        Difference(
            arbiter.SETTINGS, "grace", "as in the inventory", f"at most {GRACE} s", "as in slurm.conf", _short_grace
        ),
        Difference(
            arbiter.SETTINGS, "qos_grace", "as in the inventory", f"at most {GRACE} s", "as of partitions", _short_grace
        ),
        Difference(
            arbiter.SETTINGS,
            "interval",
            "as in the inventory",
            f"at most {INTERVAL} s",
            "so that a rehearsal takes minutes",
            lambda value, _: str(min(int(value or INTERVAL), INTERVAL)),
        ),
        Difference(
            _SLURM,
            "AuthInfo",
            "cred_expire of 120 s, or the inventory's value",
            f"cred_expire={CRED_EXPIRE}",
            "an evicted job may not start again before its credential has expired",
            lambda *_: f"cred_expire={CRED_EXPIRE}",
        ),
        Difference(
            _SLURM,
            "KillWait",
            "10 s, or the inventory's value",
            f"{KILL_WAIT} s",
            "a job that ignores SIGTERM holds its resources for this time",
            lambda *_: str(KILL_WAIT),
        ),
    )


def _cgroups(place: Place) -> tuple[Difference, ...]:
    plugin, why = cgroup_plugin(place.version), "a container without rights over control groups"
    if has(place.version, "CgroupPlugin=disabled"):
        return (Difference(_CGROUP, "CgroupPlugin", plugin, "disabled", why, lambda *_: "disabled", needed=True),)
    nowhere = f"Slurm {place.version} needs a plugin; that for v1 has no effect while jobs are not confined"
    return (
        Difference(_CGROUP, "CgroupPlugin", plugin, "cgroup/v1", nowhere, lambda *_: "cgroup/v1", needed=True),
        Difference(_CGROUP, "CgroupMountpoint", "Slurm's own", V1_MOUNT, nowhere, lambda *_: V1_MOUNT),
        *(
            Difference(_CGROUP, f"Constrain{resource}", "yes", "no", why, lambda *_: "no")
            for resource in ("Devices", "Cores", "RAMSpace")
        ),
    )


def _gpus(place: Place) -> tuple[Difference, ...]:
    if not place.gpus:
        return ()

    def stand_in(value: str | None, _: str) -> str | None:
        lines = place.gpus.get(f"NodeName={value}")
        return "\n".join(lines).removeprefix("NodeName=") if lines else value

    why = "there is no driver, so slurmd cannot detect GPUs; plain files replace them"
    return (Difference(_GRES, "NodeName", "AutoDetect, where the inventory has it", "device files", why, stand_in),)


def _data() -> tuple[Difference, ...]:
    quick = "a twin may lose transactions, and does not wait for the disk"

    def setting(key: str, production: str, twin: str, why: str) -> Difference:
        return Difference(_DATABASE, key, production, twin, why, lambda *_: twin)

    return (
        Difference(
            "/etc/slurm/slurmdbd.conf",
            "DbdHost",
            "the database's node",
            "localhost",
            "one machine runs all nodes",
            lambda *_: "localhost",
            needed=True,
        ),
        setting("innodb_buffer_pool_size", "4G", "64M", "the database is small"),
        setting("innodb_log_file_size", "64M", "16M", quick),
        setting("innodb_flush_log_at_trx_commit", "1", "0", quick),
        setting("innodb_doublewrite", "1", "0", quick),
    )


def _ports(ports: Mapping[str, int], _: str | None, nodes: str) -> str:
    # a line may define several nodes; their ports are in the same order
    return fold(str(ports[node]) for node in expand(nodes))


def _short_grace(value: str | None, _: str) -> str | None:
    return None if value is None else str(min(int(value), GRACE))


def _always_there(value: str | None, _: str) -> str | None:
    return "UNKNOWN" if value == "CLOUD" else value


def _of_node(path: str) -> str:
    return f"{path.removesuffix('.log')}-%n.log"


def _with(flag: str, value: str | None, _: str) -> str:
    flags = value.split(",") if value else []
    return ",".join(flags if flag in flags else [*flags, flag])
