"""Inventories for tests, and copies with some texts replaced."""

from functools import cache
from pathlib import Path

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster

INVENTORY = Path(__file__).parents[2] / "inventory"
#: Two nodes with GPUs and only the required keys; the same with storage.
SMALL = Path(__file__).parents[1] / "unit" / "small"
STORED = Path(__file__).parents[1] / "unit" / "stored"


@cache
def cluster_at(folder: Path) -> Cluster:
    """Return the Cluster of an inventory of this repository, which is loaded once per process."""
    return load(folder)


def copied(inventory: Path, into: Path, *replaced: tuple[str, str]) -> Path:
    """Copy an inventory's files with each (old, new) replaced once, in the one file that has the old text."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(inventory.glob("*.yml"))}
    for old, new in replaced:
        (file,) = (name for name, text in texts.items() if old in text)
        texts[file] = texts[file].replace(old, new, 1)
    into.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (into / name).write_text(text, encoding="utf-8")
    return into


def changed(inventory: Path, into: Path, *replaced: tuple[str, str]) -> Cluster:
    """Return the Cluster of such a copy."""
    return load(copied(inventory, into, *replaced))
