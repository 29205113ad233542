"""A job opens its own GPUs and no others."""

from gpupool.cluster.model import Cluster
from show.shell import Shell, title

_PROBE = r"""
for gpu in /dev/nvidia[0-9]*; do
  answer=$( { exec 3<"$gpu"; } 2>&1 ) || true
  case $answer in
    *"No such device"*) echo "$gpu mine (ENXIO: it is let through, and there is no driver here)";;
    *"not permitted"*) echo "$gpu refused (EPERM)";;
    *) echo "$gpu $answer";;
  esac
done
"""


def fits(cluster: Cluster) -> bool:
    """Return whether this cluster restricts the devices of jobs."""
    return cluster.gpu.constrain_devices


def show(cluster: Cluster, shell: Shell) -> None:
    """Let a job with one GPU try to open all GPUs of its node."""
    title("A job opens its own GPUs and no others")
    shell.type(f"srun {shell.gpu_job()} bash -s", _PROBE, "tries every /dev/nvidia*")
