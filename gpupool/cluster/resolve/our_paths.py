"""Paths on nodes that gpupool itself writes, so that no file of the site may have them.

A test compares them with all compiled files.
"""

import re

from gpupool.unix import UNITS, within

# Directories with everything below them. Other files have `gpupool` in a name of their path.
_WHOLE = ("/etc/slurm", "/etc/munge")
_FILES = frozenset(
    (
        *("/etc/apptainer/apptainer.conf", "/etc/default/sackd", "/etc/default/slurmd", "/etc/docker/daemon.json"),
        *("/etc/singularity/singularity.conf", "/etc/hostname", "/etc/hosts", "/etc/localtime", "/etc/timezone"),
        *("/etc/pam.d/common-auth", "/etc/ssh/shosts.equiv", "/etc/ssh/ssh_known_hosts", "/etc/sssd/sssd.conf"),
        *("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/fstab"),
        *(f"/usr/local/bin/{name}" for name in ("budget", "getUtilByJobId.sh", "gpu_usage", "sacct", "sbash")),
        "/usr/local/bin/vscode-launch.sh",
        *(f"/usr/local/sbin/{name}" for name in ("halt", "poweroff", "reboot", "shutdown")),
        *(f"/usr/local/share/man/man1/{name}.1" for name in ("budget", "gpu_usage", "sbash", "slurm-aliases")),
        *(f"/usr/local/share/man/man1/{name}.1" for name in ("getUtilByJobId.sh", "vscode-launch.sh")),
    )
)
_MOUNT_UNIT = re.compile(rf"{UNITS}/[^/]+\.(auto)?mount")
_HOST_KEY = re.compile(r"/etc/ssh/ssh_host_[^/]*")


def is_ours(path: str) -> bool:
    """Return whether gpupool writes this path, on some node or with some inventory."""
    return (
        path in _FILES
        or "gpupool" in path
        or any(within(path, top) for top in _WHOLE)
        or bool(_MOUNT_UNIT.fullmatch(path) or _HOST_KEY.fullmatch(path))
    )
