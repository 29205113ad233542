"""The commands of a container before systemd starts: they replace docker's environment with that of a machine."""

from gpupool.compile.slurm.gres import V1_MOUNT
from gpupool.compile.system.devices import MAJOR
from gpupool.shell import shell_file, values

# Slurm's cgroup/v1 plugin needs these, each at <mount point>/<controller>.
V1_CONTROLLERS = ("devices", "cpuset", "memory", "freezer")
NVIDIA_CONTROL = 255

_SCRIPT = shell_file(__package__, "boot.sh")


def script(*, cgroups: str, gpus: int, nameservers: tuple[str, ...], public_key: str, testbed: str = "") -> str:
    """Return the shell text that a container runs at each start."""
    assignments = values(
        resolv="".join(f"nameserver {address}\n" for address in nameservers),
        login=public_key.strip(),
        v1=V1_MOUNT,
        controllers=" ".join(V1_CONTROLLERS) if cgroups == "v1" else "",
        major=str(MAJOR),
        devices=" ".join(_devices(gpus)),
        testbed=testbed,
    )
    return assignments + _SCRIPT


def gpu_minors(gpus: int) -> tuple[int, ...]:
    """Return the minor device numbers of that many GPUs and of the driver's control device."""
    return (*range(gpus), NVIDIA_CONTROL) if gpus else ()


def _devices(gpus: int) -> list[str]:
    names = {minor: "nvidiactl" if minor == NVIDIA_CONTROL else f"nvidia{minor}" for minor in gpu_minors(gpus)}
    return [f"{name}:{minor}" for minor, name in names.items()]
