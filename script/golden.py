"""What machines of the inventories get, as one text each, so that a review sees what a change does to them.

`script/golden.py` writes them. The programs that gpupool ships to nodes and the static part of the submit plugin are
left out: they are files of this repository. So are all but the first few files that differ from node to node, such as
host names.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from gpupool.compile.slurm.submit import static

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests/unit/project/golden"
INVENTORIES = sorted(path.parent.name for path in (ROOT / "inventory").glob("*/inventory.py"))
_OF_A_PATH = 3


def kept(inventory: str) -> Path:
    """Return the file that holds what `gpupool render` printed for an inventory."""
    return KEPT / f"{inventory}.txt"


def shortened(printed: str) -> str:
    """Return what `gpupool render` printed, without files of this repository and all but the first files of a path."""
    # sizes of programs change with every change of a program
    files = re.split(r"(?m)^(?===> )", printed.partition("==> programs of gpupool")[0])
    seen: Counter[str] = Counter()
    short = []
    for file in files:
        path = file.partition(" (")[0].rpartition(":")[2]
        seen[path] += 1
        if seen[path] <= _OF_A_PATH:
            short.append(file.replace(static(), "-- templates/job_submit/*.lua\n"))
    return "".join(short)


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in INVENTORIES:
        command = [sys.executable, "-m", "gpupool", "render", f"inventory/{name}"]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        kept(name).write_text(shortened(printed), encoding="utf-8")
