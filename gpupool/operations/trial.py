"""Test a new slurm.conf before it is put: Slurm itself has no such test.

On a controller, a second slurmctld is started with the new files and a copy of the live state, in a network namespace
without nodes, slurmdbd and other slurmctlds. It cannot connect to anything, and is killed as soon as it has read all
files. The test takes about 0.3 s and shows whether slurmctld starts, and which jobs it would end. These are more than
the jobs of a removed partition or node: slurmctld also ends jobs whose node has other CPUs, cores or GPUs now, and jobs
that were submitted to several partitions of which one was removed, even if they run in another.

Some settings always fail in the namespace. So the current files are tested in the same way, and only errors that are
new count.
"""

from gpupool.shell import shell_file
from gpupool.slurm.releases import has

#: The functions that start the second slurmctld.
START = shell_file(__package__, "trial_start.sh")
_TRIAL = START + shell_file(__package__, "trial.sh")


def check(release: str, conf: str) -> list[str]:
    """Return the command for `files.put(check=…)` of slurm.conf, at the path `conf`, and its related files.

    `release` is that of Slurm on the node. On a node without slurmctld the command accepts all files. `$GPUPOOL_NEW` is
    the suffix of new files.
    """
    return ["sh", "-c", f"{with_cluster_id(release)}{_TRIAL.strip()}", "trial", conf]


def with_cluster_id(release: str) -> str:
    """Return the first line for a script with `START`: the ClusterID, if a slurmctld of this release needs one.

    The state of an earlier release has none, and there is no slurmdbd to ask.
    """
    return "cluster_id=1\n" if has(release, "ClusterID in the state") else ""
