"""`python3 -m gpus SETTINGS [PROC]`: check the GPUs; print nothing if they are as declared, else one line of faults.

Slurm uses the line as the reason of the drained node. Exit code 0, or 1 with a line.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpupool.node import commands
from gpupool.node.commands import CommandError

from . import answers
from .declared import differences

MARK = "gpupool: "
_PATIENCE = 15  # seconds for each command; slurmd kills the whole health check after 60
_FIELDS = ("name", "uuid", "pci.bus_id")


def main(arguments: Sequence[str]) -> int:
    """Check this node's GPUs and print their faults."""
    settings = json.loads(Path(arguments[0]).read_text())
    proc = Path(arguments[1] if len(arguments) > 1 else "/proc")
    reasons = list(faults(settings["gpus"], proc))
    if reasons:
        print(f"{MARK}{'; '.join(reasons)}")
    return 1 if reasons else 0


def faults(gpus: Mapping[str, Mapping[str, Any]], proc: Path) -> Iterator[str]:
    """Yield the faults: of the driver, of GPUs that it does not see, and differences from the declared GPUs."""
    version = proc / "driver/nvidia/version"
    module = answers.from_version(version.read_text()) if version.exists() else None
    if module is None:
        yield "no NVIDIA driver is loaded"
        return
    text, trouble = _ask("nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader")
    seen = answers.from_query(text.splitlines(), _FIELDS)
    lost = [f"GPU {address}: {reason}" for address, reason in answers.lost(text)]
    yield from lost
    if trouble and not lost and not seen:
        yield f"nvidia-smi: {trouble}"
        return
    slots, trouble = _ask("lspci", "-Dnn", "-d", "10de:")
    if trouble:
        yield f"lspci: {trouble}"
    for slot in answers.unseen(answers.from_lspci(slots.splitlines()), seen):
        yield f"the driver {module.version} does not see {slot.name} at {slot.address}"
    counts = {name: gpu["count"] for name, gpu in gpus.items()}
    models = {name: gpu["models"] for name, gpu in gpus.items()}
    yield from differences(counts, models, [gpu.model or "GPU without a name" for gpu in seen])


def _ask(*command: str) -> tuple[str, str]:
    """Return the output of a command, and the reason in its own words if it failed."""
    try:
        result = commands.run(command, _PATIENCE)
    except CommandError as error:
        return "", error.reason
    text = f"{result.output}{result.errors}"
    lines = [line for line in text.splitlines() if line.strip()]
    return text, (lines[0] if lines else result.reason) if result.code else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
