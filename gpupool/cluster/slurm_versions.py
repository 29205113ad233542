"""What each version of Slurm can do, by name: versions are compared nowhere else. From Slurm's own RELEASE_NOTES."""


def limits_rpcs(version: str) -> bool:
    """Whether slurmctld has `rl_enable`, a limit on requests by each user; it came with 23.02."""
    return version != "22.05"


def has_preempt_parameters(version: str) -> bool:
    """Whether `send_user_signal` is in PreemptParameters; 22.05 has it in SlurmctldParameters."""
    return version != "22.05"


def has_sackd(version: str) -> bool:
    """Whether nodes without slurmd can ask the controller for the configuration; sackd came with 23.11."""
    return version != "22.05"


def keeps_cpus(version: str) -> bool:
    """Whether Slurm can keep CPUs for jobs that ask for GPUs; RestrictedCoresPerGPU came with 24.05."""
    return version != "22.05"


def cgroup_plugin(version: str) -> str:
    """Return the CgroupPlugin for a node with control groups of version 2; 22.05 is left to find out."""
    return "autodetect" if version == "22.05" else "cgroup/v2"


def runs_without_cgroups(version: str) -> bool:
    """Whether CgroupPlugin may be `disabled`; it came with 23.11."""
    return version != "22.05"
