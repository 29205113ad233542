"""The cost of counting a large tree, compared with du: time and memory."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROGRAM = Path(__file__).parent.parent / "gpupool"
FILES, PEOPLE, IN_EACH = 1_000_000, 20, 50


@dataclass(frozen=True)
class Cost:
    """The cost of a command: seconds of wall time and of CPU, peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


def usage(out: Console) -> None:
    """Measure on a tree of a million files, made here and removed afterwards; both with a warm cache, median of 3."""
    folder = Path(tempfile.mkdtemp(prefix="gpupool-bench-"))
    try:
        top = folder / "space"
        began = time.monotonic()
        make(top)
        made = time.monotonic() - began
        settings = folder / "usage.json"
        settings.write_text(json.dumps({"file": "disk-usage.txt", "count": [{"path": str(top), "levels": 1}]}))
        counted = [sys.executable, "-B", "-m", "usage", "count", str(settings)]
        commands = {"du -sk": ["du", "-skx", *map(str, sorted(top.iterdir()))], "gpupool's count": counted}
        costs = {name: [cost(command) for _ in range(4)][1:] for name, command in commands.items()}
        same(top)
    finally:
        shutil.rmtree(folder)
    medians = {name: sorted(found, key=lambda cost: cost.wall)[1] for name, found in costs.items()}
    table = Table("", "wall s", "CPU s", "memory MiB", box=None, pad_edge=False, header_style="bold")
    for name, median in medians.items():
        table.add_row(name, f"{median.wall:.2f}", f"{median.cpu:.2f}", f"{median.memory:.0f}")
    du, ours = medians.values()
    table.add_row("ratio", *(f"{b / a:.1f}" for a, b in zip(vars(du).values(), vars(ours).values(), strict=True)))
    caption = f"{FILES:,} files in {FILES // IN_EACH:,} directories, {PEOPLE} of them with a disk-usage.txt"
    out.print(f"\n[bold]disk-usage.txt[/]: {caption} (made in {made:.0f} s)", table, sep="\n")


def make(top: Path) -> None:
    """Create the tree: users' directories, each with many directories of fifty files, one file in ten not empty."""
    for number in range(FILES // IN_EACH):
        inner = top / f"u-{number % PEOPLE}" / f"run-{number // PEOPLE % 40}" / f"step-{number}"
        inner.mkdir(parents=True)
        fd = os.open(inner, os.O_RDONLY)
        for name in range(IN_EACH):
            file = os.open(f"sample-{name}.json", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
            if name % 10 == 0:
                os.write(file, b"x")
            os.close(file)
        os.close(fd)


def cost(command: list[str]) -> Cost:
    """Run a command and return its cost."""
    began = time.monotonic()
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(PROGRAM)}, stdout=subprocess.DEVNULL)
    memory = 0
    while not (ended := os.wait4(child.pid, os.WNOHANG))[0]:
        # wait4's maximum includes the memory that this process had when it started the command
        memory = max(memory, peak(child.pid))
        time.sleep(0.01)
    child.returncode = os.waitstatus_to_exitcode(ended[1])
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    return Cost(time.monotonic() - began, ended[2].ru_utime + ended[2].ru_stime, memory / 1024)


def peak(pid: int) -> int:
    """Return the peak memory of a process so far, in KiB; 0 once it has ended."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def same(top: Path) -> None:
    """Stop if a file's figure differs from du's."""
    for folder in top.iterdir():
        counted = (folder / "disk-usage.txt").read_text().split()[-1]
        du = subprocess.run(["du", "-sk", str(folder)], capture_output=True, text=True, check=True).stdout.split()[0]
        if counted != du:
            sys.exit(f"{folder.name}: the file says {counted}, du {du}")
