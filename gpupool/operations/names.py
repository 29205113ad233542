"""The host name that the kernel has now; /etc/hostname, which it is after a boot, is a file like others."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.names import KernelName
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse


@operation()
def host_name(hostname: str) -> Generator[StringCommand, None, None]:
    """Have the kernel call the node by this name."""
    now = this_host().get_fact(KernelName)
    if now is None:
        yield from refuse("cannot read the host name: no answer within 60 s")
        return
    if now == hostname:
        this_host().noop(f"host name {hostname}: as wanted")
        return
    diffs.record({f"host name {hostname}": f"{now} becomes {hostname}\n"})
    yield StringCommand(f"hostname {shlex.quote(hostname)}")
