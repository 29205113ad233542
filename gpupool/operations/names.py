"""The host name that the kernel has now; /etc/hostname, which it is after a boot, is a file like others."""

from gpupool.change import Aspect, Kind
from gpupool.facts.names import KernelName
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work


@operation
def host_name(hostname: str) -> Commands:
    """Have the kernel call the node by this name."""
    work = Work(Kind.OTHER)
    now = look(KernelName, "the host name")
    if now != hostname:
        work.do(f"host name {hostname}", Aspect(hostname, now), "hostname", hostname)
    yield from work.carry_out(f"host name {hostname}: as wanted")
