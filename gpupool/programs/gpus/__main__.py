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
    reasons = list(faults(settings["gpus"], proc, frozenset(settings.get("out_of_service", ()))))
    if reasons:
        print(f"{MARK}{'; '.join(reasons)}")
    return 1 if reasons else 0


def faults(gpus: Mapping[str, Mapping[str, Any]], proc: Path, out_of_service: frozenset[int]) -> Iterator[str]:
    """Yield the faults: of the driver, of GPUs that it does not see, and differences from the declared GPUs.

    GPUs `out_of_service`, by their minor numbers, have no faults. `gpus` does not count them.
    """
    version = proc / "driver/nvidia/version"
    module = answers.from_version(version.read_text()) if version.exists() else None
    if module is None:
        yield "no NVIDIA driver is loaded"
        return
    text, trouble = _ask("nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader")
    seen = answers.from_query(text.splitlines(), _FIELDS)
    lost = dict(answers.lost(text))
    slots, slots_trouble = _ask("lspci", "-Dnn", "-d", "10de:")
    unseen = answers.unseen(answers.from_lspci(slots.splitlines()), seen)
    excused = _excused(proc, out_of_service, [*lost, *(slot.address for slot in unseen)])
    yield from (f"GPU {address}: {reason}" for address, reason in lost.items() if address not in excused)
    if trouble and not lost and not seen:
        yield f"nvidia-smi: {trouble}"
        return
    if slots_trouble:
        yield f"lspci: {slots_trouble}"
    for slot in unseen:
        if slot.address not in excused:
            yield f"the driver {module.version} does not see {slot.name} at {slot.address}"
    counts = {name: gpu["count"] for name, gpu in gpus.items()}
    models = {name: gpu["models"] for name, gpu in gpus.items()}
    reported = [gpu.model or "GPU without a name" for gpu in seen if gpu.address not in excused]
    yield from differences(counts, models, reported)


def _excused(proc: Path, out_of_service: frozenset[int], missing: Sequence[str]) -> set[str]:
    """Return the PCI addresses of the GPUs out of service; `missing` are those of GPUs that nvidia-smi does not list.

    A missing GPU without a known number is one of them, if a number out of service belongs to no other GPU.
    """
    if not out_of_service:
        return set()
    files = (proc / "driver/nvidia/gpus").glob("*/information")
    known = [answers.from_information(file.read_text(errors="replace")) for file in files]
    minors = {gpu.address: gpu.minor for gpu in known if gpu.address and gpu.minor is not None}
    free = len(out_of_service - {*minors.values()})
    strangers = [address for address in dict.fromkeys(missing) if address not in minors]
    return {*strangers[:free], *(address for address, minor in minors.items() if minor in out_of_service)}


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
