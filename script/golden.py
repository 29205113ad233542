"""The files of machines of the inventories, one for each path, so that a review sees the effect of a change on them.

`script/golden.py` writes `INVENTORY/ROLE/PATH`, `INVENTORY/accounting.cfg` and `INVENTORY/files.tsv`: role, path,
owner, mode and nodes of each file. If nodes get different texts for a path, the folder is `ROLE@NODE`, by the first
node of each text.
Left out are the programs that gpupool installs on nodes and the static part of the submit plugin, which are files of
this repository; all but the first few texts of a path that differ from node to node, such as host names; and files of
other inventories, if an inventory that is kept in full has their path. Of nodes with several distributions, files that
differ from node to node are kept too.
"""

import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import golden_releases

from gpupool.compile.slurm.submit import static
from gpupool.slurm.hostlists import expand

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests/unit/project/golden"
#: The name of the cluster whose nodes have several distributions.
_MIXED = "mixed"
#: The folder of each inventory, by the name under which its files are kept.
INVENTORIES = {
    **{path.parent.name: str(path.parent) for path in sorted((ROOT / "inventory").glob("*/inventory.py"))},
    _MIXED: str(ROOT / "tests/unit/compile/schedmd"),
}
INDEX = "files.tsv"
#: All their files are kept; of other inventories only Slurm's files, and files whose path these lack.
_IN_FULL = ("example", "skynet")
_OF_A_PATH = 3
_HEADER = re.compile(r"==> (?P<nodes>\S+?):(?P<path>/.*) \((?P<owner>\S+) (?P<mode>\d+), role (?P<role>\S+)\) <==\n")


@dataclass(frozen=True)
class _File:
    """A text that nodes get at a path."""

    role: str
    path: str
    owner: str
    mode: str
    nodes: str
    text: str

    @property
    def row(self) -> str:
        """Return the line of the index."""
        return "\t".join((self.role, self.path, self.owner, self.mode, self.nodes)) + "\n"


def shown(inventory: str, printed: str) -> dict[str, str]:
    """Return the text of each file that is kept of an inventory, by its path below KEPT/INVENTORY.

    `printed` is the output of `gpupool render`. KEPT has the inventories that are kept in full.
    """
    # sizes of programs change with every change of a program
    blocks = re.split(r"(?m)^(?===> )", printed.partition("==> programs of gpupool")[0])
    files = [_file(block) for block in blocks if _HEADER.match(block)]
    if inventory not in _IN_FULL:
        elsewhere = _paths_in_full()
        elsewhere -= _differing(files) if inventory == _MIXED else set()
        files = [file for file in files if file.path.startswith("/etc/slurm/") or file.path not in elsewhere]
    (accounting,) = (block.partition("\n")[2] for block in blocks if block.startswith("==> slurmdbd"))
    texts = {"accounting.cfg": accounting}
    by_path: dict[tuple[str, str], list[_File]] = defaultdict(list)
    for file in files:
        by_path[file.role, file.path].append(file)
    for (role, path), variants in by_path.items():
        for file in variants[:_OF_A_PATH]:
            folder = role if len(variants) == 1 else f"{role}@{expand(file.nodes)[0]}"
            # systemd's name of a mount may contain \x2d, which git quotes
            texts[f"{folder}{path}".replace("\\x2d", "-")] = file.text
    texts[INDEX] = "".join(file.row for variants in by_path.values() for file in variants[:_OF_A_PATH])
    return texts


def kept(inventory: str) -> dict[str, str]:
    """Return the text of each file that the repository keeps of an inventory, by its path below KEPT/INVENTORY."""
    top = KEPT / inventory
    return {str(path.relative_to(top)): path.read_bytes().decode() for path in sorted(top.rglob("*")) if path.is_file()}


def _file(block: str) -> _File:
    header = _HEADER.match(block)
    assert header
    text = block[header.end() :].removesuffix("\n").replace(static(), "-- templates/job_submit/*.lua\n")
    return _File(header["role"], header["path"], header["owner"], header["mode"], header["nodes"], text)


def _differing(files: list[_File]) -> set[str]:
    """Return the paths for which nodes get different texts."""
    return {path for path, count in Counter(file.path for file in files).items() if count > 1}


def _paths_in_full() -> set[str]:
    return {line.split("\t")[1] for name in _IN_FULL for line in (KEPT / name / INDEX).read_text().splitlines()}


def _write(inventory: str) -> None:
    command = [sys.executable, "-m", "gpupool", "render", INVENTORIES[inventory]]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    shutil.rmtree(KEPT / inventory, ignore_errors=True)
    for name, text in shown(inventory, printed).items():
        path = KEPT / inventory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


if __name__ == "__main__":
    for each in sorted(INVENTORIES, key=lambda name: name not in _IN_FULL):
        _write(each)
    golden_releases.write()
