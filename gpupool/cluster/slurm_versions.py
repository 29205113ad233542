"""What each version of Slurm can do, by name: versions are compared nowhere else. From Slurm's own RELEASE_NOTES."""

#: Every release since the first that is known here, oldest first.
RELEASES = ("21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")


def limits_rpcs(version: str) -> bool:
    """Whether slurmctld has `rl_enable`, a limit on requests by each user; it came with 23.02."""
    return version != "22.05"


def has_preempt_parameters(version: str) -> bool:
    """Whether `send_user_signal` is in PreemptParameters; 22.05 has it in SlurmctldParameters."""
    return version != "22.05"


def tells_shares(version: str) -> bool:
    """Whether `sshare --json` says what accounts have used, to the second; it came with 23.02."""
    return version != "22.05"


def has_sackd(version: str) -> bool:
    """Whether nodes without slurmd can ask the controller for the configuration; sackd came with 23.11."""
    return version != "22.05"


def keeps_cpus(version: str) -> bool:
    """Whether Slurm can keep CPUs for jobs that ask for GPUs; RestrictedCoresPerGPU came with 24.05."""
    return version != "22.05"


def reserves_gpus(version: str) -> bool:
    """Whether a reservation can be of GPUs (TRES=gres/gpu=4), and not of whole nodes alone; it came with 24.05."""
    return version != "22.05"


def finds_nvidia_gpus(version: str) -> bool:
    """Whether AutoDetect may be `nvidia`, which needs no NVML; it came with 24.11."""
    return version != "22.05"


def cgroup_plugin(version: str) -> str:
    """Return the CgroupPlugin for a node with control groups of version 2; 22.05 is left to find out."""
    return "autodetect" if version == "22.05" else "cgroup/v2"


def has_scope_timeout(version: str) -> bool:
    """Whether cgroup.conf can say how long slurmd waits for systemd to make its scope (SystemdTimeout)."""
    return version != "22.05"


def has_private_tmp(version: str) -> bool:
    """Whether a job can have a /tmp of its own in which mounts that come later are seen (`Shared`, from 23.02 on)."""
    return version != "22.05"


def namespace_plugin(version: str) -> tuple[str, str]:
    """Return key and value by which jobs get a /tmp of their own; renamed in 25.11."""
    if version in ("22.05", "24.11"):
        return "JobContainerType", "job_container/tmpfs"
    return "NamespaceType", "namespace/tmpfs"


def runs_without_cgroups(version: str) -> bool:
    """Whether CgroupPlugin may be `disabled`; it came with 23.11."""
    return version != "22.05"


def allows_below(version: str) -> bool:
    """Whether AllowAccounts and DenyAccounts of a partition hold for the accounts below those named, too."""
    return version != "22.05"


def takes_over_from(version: str) -> tuple[str, ...]:
    """Return the releases whose database and state a version reads: the two before it, from 24.11 on three."""
    place = RELEASES.index(version)
    return RELEASES[max(0, place - (2 if place < RELEASES.index("24.11") else 3)) : place]
