"""Create missing device files now, as systemd-tmpfiles does at every boot."""

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.devices import Devices
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work


@operation
def present(devices: dict[str, tuple[int, int]], conf: str) -> Commands:
    """Have these device files (path: major and minor), as in the file `conf` of tmpfiles.d."""
    state = look(Devices, "the device files", paths=list(devices))
    work = Work(Kind.HARDWARE)
    for path, (major, minor) in devices.items():
        if (now := state.get(path)) != (major, minor):
            wanted = f"character device {major}:{minor}"
            work.differs(path, Aspect(wanted, f"another device: {now[0]}:{now[1]}" if now else ABSENT, note=wanted))
    work.run("systemd-tmpfiles", "--create", conf)
    yield from work.carry_out(f"{len(devices)} devices: as wanted")
