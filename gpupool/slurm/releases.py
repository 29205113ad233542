"""Slurm's releases in order, the known and the tested ones, and the first release with each ability.

The section "Adding a release of Slurm" of docs/roles/slurm.md has a checklist.
"""

from collections.abc import Mapping
from typing import Literal, get_args

#: Slurm's releases, oldest first, from the oldest whose state a known release can read.
RELEASES = ("20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")

#: The releases that `slurm.version` of an inventory may name: the tables of `slurm/keys` are compared with each.
Known = Literal["22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05"]
KNOWN: tuple[Known, ...] = get_args(Known)
#: The known releases that gpupool's tests run, and that a twin can run: a proved distribution of its tables ships them.
Tested = Literal["22.05", "24.11", "26.05"]
TESTED: tuple[Tested, ...] = get_args(Tested)
#: The release of an inventory without `slurm.version`.
DEFAULT: Tested = "24.11"

Ability = Literal[
    "rl_enable",
    "PreemptParameters",
    "hierarchical AllowAccounts",
    "Shared of job_container.conf",
    "cgroup/v2 by name",
    "Flags=explicit",
    "sshare --json",
    "sackd",
    "reservations of gres",
    "a process for each reconfigure",
    "RestrictedCoresPerGPU",
    "SystemdTimeout",
    "CgroupPlugin=disabled",
    "AutoDetect=nvidia",
    "conmgr_max_connections",
    "ClusterID in the state",
    "NamespaceType",
]

#: The first release with each ability. Sources: RELEASE_NOTES (RN), NEWS, the man pages and the source of that release.
SINCE: Mapping[Ability, str] = {
    # slurmctld limits the requests of each user. RN 23.02
    "rl_enable": "23.02",
    # the key; its send_user_signal replaces preempt_send_user_signal of SlurmctldParameters. slurm.conf(5)
    "PreemptParameters": "23.02",
    # AllowAccounts and DenyAccounts of a partition also apply to the accounts below the named ones. slurm.conf(5)
    "hierarchical AllowAccounts": "23.02",
    # a job with a private /tmp sees mounts that are made after its start. RN 23.02
    "Shared of job_container.conf": "23.02",
    # 22.05 has the plugin, too, but keeps autodetect, which uses cgroup/v1 on hosts that have only that. RN 22.05
    "cgroup/v2 by name": "23.02",
    # a gres that a job with whole nodes gets only if it requests it. src/interfaces/gres.c
    "Flags=explicit": "23.02",
    # the usage of accounts in seconds; src/sshare
    "sshare --json": "23.11",
    # a node without slurmd gets its configuration from a controller; src/sackd
    "sackd": "23.11",
    # a reservation of TRES=gres/gpu=4, and not only of whole nodes. RN 23.11, scontrol(1)
    "reservations of gres": "23.11",
    # slurmctld and slurmd read their files again in a new process; before, in the running one. RN 23.11
    "a process for each reconfigure": "23.11",
    # nodes reserve CPUs for jobs that request GPUs. slurm.conf(5)
    "RestrictedCoresPerGPU": "24.05",
    # the time that slurmd waits for systemd to create its scope. cgroup.conf(5)
    "SystemdTimeout": "24.05",
    # daemons run on systems without control groups. NEWS of 24.05, cgroup.conf(5)
    "CgroupPlugin=disabled": "24.05",
    # slurmd finds NVIDIA's GPUs without NVML; src/plugins/gpu/nvidia
    "AutoDetect=nvidia": "24.11",
    # the open connections of slurmctld, 150 by default. RN 24.11
    "conmgr_max_connections": "24.11",
    # the file clustername has NAME|ID; without the ID, slurmctld waits for slurmdbd. src/slurmctld/controller.c
    "ClusterID in the state": "24.11",
    # the new name of JobContainerType; its value namespace/tmpfs replaces job_container/tmpfs. slurm.conf(5)
    "NamespaceType": "25.11",
}

#: Keys of slurm.conf and their options, in lower case, with the first release that refuses the option.
#: CHANGELOG/slurm-23.11.md, and src/common/read_config.c of 20.11 and 21.08
OPTIONS_BEFORE: Mapping[tuple[str, str], str] = {
    ("selecttype", "select/cons_res"): "23.11",
    ("taskpluginparam", "boards"): "22.05",
    ("taskpluginparam", "sched"): "21.08",
}


def number(release: str) -> tuple[int, int]:
    """Return year and month of a release, for comparisons; ValueError if it has another form."""
    year, month = release.split(".")
    return int(year), int(month)


def within(release: str, since: str, before: str) -> bool:
    """Return whether a release is `since` or newer, and older than `before`; "" is no bound."""
    return (not since or number(since) <= number(release)) and (not before or number(release) < number(before))


def has(release: str, ability: Ability) -> bool:
    """Return whether a release has an ability."""
    return within(release, SINCE[ability], "")


def first_tested(ability: Ability) -> Tested:
    """Return the oldest rehearsed release that has an ability, for messages that advise it."""
    return next(release for release in TESTED if has(release, ability))


def cgroup_plugin(release: str) -> str:
    """Return the value of CgroupPlugin for nodes with cgroup v2."""
    return "cgroup/v2" if has(release, "cgroup/v2 by name") else "autodetect"


def namespace_plugin(release: str) -> tuple[str, str]:
    """Return the key of slurm.conf, and its value, for a private /tmp of each job."""
    if has(release, "NamespaceType"):
        return "NamespaceType", "namespace/tmpfs"
    return "JobContainerType", "job_container/tmpfs"
