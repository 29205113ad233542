"""Device files that systemd-tmpfiles makes at every boot: made now where they are missing."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.devices import Devices
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse


@operation()
def present(devices: dict[str, tuple[int, int]], conf: str) -> Generator[StringCommand, None, None]:
    """Have these device files (path: major and minor), as the drop-in `conf` of tmpfiles.d says."""
    state = this_host().get_fact(Devices, paths=list(devices))
    if state is None:
        yield from refuse("cannot read the device files: no answer within 60 s")
        return
    missing = [path for path, numbers in devices.items() if state.get(path) != tuple(numbers)]
    diffs.record({path: f"character device {devices[path][0]}:{devices[path][1]}\n" for path in missing})
    if not missing:
        this_host().noop(f"{len(devices)} devices: as wanted")
        return
    yield StringCommand(f"systemd-tmpfiles --create {shlex.quote(conf)}")
