"""What can be seen on the node itself: device files of GPUs, free space, whether the clock is right."""

import os
import re
import stat
import subprocess
from pathlib import Path

DEVICES = Path("/dev")
_MIB = 1 << 20


def gpus(count: int, program: str) -> list[str]:
    """Return what is wrong with the GPUs: device files, then what the driver says where a program asks it."""
    present = sum(_is_gpu(path) for path in DEVICES.glob("nvidia*"))
    found = [f"{present} of {count} GPUs have a device file"] if present < count else []
    if Path(program).is_file() and os.access(program, os.X_OK):
        try:
            done = subprocess.run([program], capture_output=True, text=True, errors="replace", check=False, timeout=15)
        except subprocess.TimeoutExpired:
            return [*found, "the GPU driver does not answer within 15 s"]
        found += [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return found


def _is_gpu(path: Path) -> bool:
    return bool(re.fullmatch(r"nvidia[0-9]+", path.name)) and stat.S_ISCHR(path.lstat().st_mode)


def disk(paths: list[str], mib: int) -> list[str]:
    """Return which file systems have less than `mib` MiB free, or no file left to create; each once."""
    found, seen = [], set()
    for path in paths:
        try:
            device, has = Path(path).stat().st_dev, os.statvfs(path)
        except OSError:
            continue  # slurmd creates its own
        if device in seen:
            continue
        seen.add(device)
        free = has.f_bavail * has.f_frsize // _MIB
        if free < mib:
            found.append(f"{path} has {free} MiB free, less than {mib}")
        elif has.f_files and not has.f_favail:
            found.append(f"{path} has no free inodes")
    return found


def clock() -> list[str]:
    """Return whether the clock is not synchronised, as the kernel knows it from chrony or systemd-timesyncd."""
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return ["the clock is not synchronised"] if done.stdout.strip() == "no" else []
