"""The changes by each known release of Slurm in the files of the example: `golden/releases/RELEASE.diff`.

Each file has the differences from the release before, of Slurm's files and the packages of all nodes. The example's own
files, of the default release, are in `golden/example`. /etc/default/slurmd is left out, which has a digest of the other
files.
"""

from difflib import unified_diff
from itertools import pairwise
from pathlib import Path

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.system.packages import packages_for
from gpupool.rehearsal.twin.compiled import of_version
from gpupool.slurm.releases import KNOWN, Known

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests/unit/project/golden/releases"
_LEFT_OUT = "/etc/default/slurmd"
_NOTHING = "No file changes.\n"


def shown() -> dict[str, str]:
    """Return the differences of each known release but the first, by the name of their file in KEPT."""
    example = load(ROOT / "inventory/example")
    texts = {release: _texts(of_version(example, release)) for release in KNOWN}
    return {f"{new}.diff": _difference(old, new, texts) for old, new in pairwise(KNOWN)}


def kept() -> dict[str, str]:
    """Return the same from the repository."""
    return {path.name: path.read_text() for path in KEPT.iterdir()}


def write() -> None:
    """Write the files to KEPT, and remove all others."""
    KEPT.mkdir(exist_ok=True)
    texts = shown()
    for path in KEPT.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (KEPT / name).write_text(text)


def _texts(cluster: Cluster) -> dict[str, list[str]]:
    """Return the lines of each file, by its path and, if texts differ, the first node with it."""
    found: dict[str, dict[str, str]] = {}
    for node in cluster.nodes.values():
        files = {file.path: file.text for file in files_for(cluster, node) if file.path != _LEFT_OUT}
        lists = {"packages": sorted(packages_for(cluster, node)), "files": sorted(files)}
        for path, text in (files | {name: "\n".join(lines) for name, lines in lists.items()}).items():
            found.setdefault(path, {}).setdefault(text, node.name)
    return {
        f"{path} of {node}" if len(texts) > 1 else path: text.splitlines()
        for path, texts in found.items()
        for text, node in texts.items()
    }


def _difference(old: Known, new: Known, texts: dict[Known, dict[str, list[str]]]) -> str:
    before, after = texts[old], texts[new]
    lines: list[str] = []
    for path in sorted({*before, *after}):
        names = (f"{old} {path}", f"{new} {path}")
        lines += unified_diff(before.get(path, []), after.get(path, []), *names, n=1, lineterm="")
    return "".join(f"{line.rstrip()}\n" for line in lines) or _NOTHING
