"""What machines of the example get, as one text, so that a review sees what a change does to them: `script/golden.py`.

The programs that gpupool ships to nodes are left out: they are Python files of this repository.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests/unit/project/golden/example.txt"


def rendered() -> str:
    """Return what `gpupool render inventory/example` prints, without the list of programs."""
    command = [sys.executable, "-m", "gpupool", "render", "inventory/example"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # sizes of programs change with every change of a program
    return printed.partition("==> programs of gpupool")[0]


if __name__ == "__main__":
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(rendered(), encoding="utf-8")
