"""The current host name in the kernel; /etc/hostname, which sets it at boot, is put like other files."""

from gpupool.change import Aspect, Kind
from gpupool.facts.names import KernelName
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work


@operation
def host_name(hostname: str) -> Commands:
    """Have this host name in the kernel."""
    work = Work(Kind.OTHER)
    now = look(KernelName, "the host name")
    if now != hostname:
        work.do(f"host name {hostname}", Aspect(hostname, now), "hostname", hostname)
    yield from work.carry_out(f"host name {hostname}: as wanted")
