"""A new slurm.conf is tried before it is put: Slurm itself has no such test.

On a controller a slurmctld of its own is started with the new files and a copy of the live state, in a network
namespace where there is no node, no slurmdbd and no other slurmctld: it can reach nothing, and is killed as soon as
it has read all. Two things are learnt in some 0.3 s each: whether it starts at all, and which jobs it would end when
it does. The latter are more than those of a deleted partition or node: slurmctld also ends jobs whose node has other
CPUs or GPUs now, or that were submitted to several partitions of which one is gone, though they run in another.

What the trial itself cannot live with (a namespace that differs from the node) fails with the files of today, too:
these are tried in the same way, and only what they stand and the new ones do not is held against the new ones.
"""

from gpupool.shell import shell_file

_TRIAL = shell_file(__package__, "trial.sh")


def check(conf: str = "/etc/slurm/slurm.conf") -> list[str]:
    """Return the command for `files.put(check=…)` of slurm.conf and its neighbours (gres.conf, job_submit.lua, …).

    On a node without slurmctld it accepts everything. `$GPUPOOL_NEW` is what new files have after their names.
    """
    return ["sh", "-c", _TRIAL.strip(), "trial", conf]
