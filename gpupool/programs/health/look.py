"""Checks of the node's device files of GPUs, free space and clock."""

import os
import re
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from gpupool.node import commands
from gpupool.node.commands import CommandError

from .bounded import Bounded

DEVICES = Path("/dev")
_MIB = 1 << 20
PATIENCE = 20.0  # time limit in seconds: a driver that has lost a GPU may never answer


def gpus(count: int, program: str, state: Path, out_of_service: Sequence[int] = ()) -> list[str]:
    """Return the faults of the GPUs: missing device files, then the output of `program`, if it is installed.

    `state` is a directory for its lock. `count` is without the GPUs `out_of_service`, which are minor numbers.
    """
    left = {f"nvidia{minor}" for minor in out_of_service}
    present = sum(_is_gpu(path) for path in DEVICES.glob("nvidia*") if path.name not in left)
    wrong = [f"{present} of {count} GPUs have a device file"] if present < count else []
    if Path(program).is_file() and os.access(program, os.X_OK):
        asked = Bounded([program], state / "gpus.lock")
        if asked.code(time.monotonic() + PATIENCE) is None:
            return [*wrong, f"the GPU driver does not answer within {PATIENCE:.0f} s"]
        # its lines begin with the name of gpupool, which the reason of the drain has already
        wrong += [line.removeprefix("gpupool: ") for line in asked.lines()]
    return wrong


def _is_gpu(path: Path) -> bool:
    return bool(re.fullmatch(r"nvidia[0-9]+", path.name)) and stat.S_ISCHR(path.lstat().st_mode)


def disk(paths: list[str], mib: int) -> list[str]:
    """Return the file systems with less than `mib` MiB or no inode free, each once."""
    wrong, seen = [], set()
    for path in paths:
        try:
            device, has = Path(path).stat().st_dev, os.statvfs(path)
        except OSError:
            continue  # slurmd creates its directories at its start
        if device in seen:
            continue
        seen.add(device)
        free = has.f_bavail * has.f_frsize // _MIB
        if free < mib:
            wrong.append(f"{path} has {free} MiB free, less than {mib}")
        elif has.f_files and not has.f_favail:
            wrong.append(f"{path} has no free inodes")
    return wrong


def clock() -> list[str]:
    """Return a fault if the clock is not synchronised, as chrony or systemd-timesyncd reported to the kernel."""
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        result = commands.run(command, seconds=5)
    except CommandError:
        return []
    return ["the clock is not synchronised"] if result.output.strip() == "no" else []
