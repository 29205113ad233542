"""The output of `gpupool render`: all files of all nodes, each once."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from operator import attrgetter
from pathlib import Path

from gpupool.cli.screen import stdout
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import FILES, files_for, files_of
from gpupool.compile.programs import HOME
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written
from gpupool.errors import GpupoolError, UsageError
from gpupool.slurm.hostlists import by_number, fold
from gpupool.wanted import File

_LARGE = 65536  # characters
_ACCOUNTING = "accounting.cfg"
_OTHER = 2  # the rank of files that are not Slurm's
_content = attrgetter(*(field.name for field in fields(File)))


@dataclass(frozen=True)
class _Shown:
    """A file, the first role that installs it, and the nodes that get it, in order and each once."""

    role: str
    file: File
    nodes: dict[str, None]


def render(inventory: Path, node: str | None, file: str | None, out: Path | None) -> None:
    """Print the files of all nodes or of one, or only files with the name `file`; or write them to the folder `out`."""
    cluster = load(inventory)
    nodes = _chosen(cluster, node)
    accounting = None
    if (node is None or cluster.nodes[node].has("database") or out) and _asked(f"/{_ACCOUNTING}", file):
        accounting = written(entities(cluster))
    count = _print(cluster, nodes, file, accounting) if out is None else _write_all(cluster, nodes, file, out)
    if not count and accounting is None:
        raise UsageError(_nowhere(cluster, node, file or ""))
    if out is not None:
        beside = ""
        if accounting is not None:
            _Folder(out).write(_ACCOUNTING, accounting)
            beside = f", and {_ACCOUNTING},"
        stdout.print(f"{count} files of {len(nodes)} nodes{beside} in {out}")


def _nowhere(cluster: Cluster, node: str | None, name: str) -> str:
    """Return why there is nothing to show: other nodes have the file, or no node has it."""
    others = [other.name for other in _chosen(cluster, None) if any(_asked_of(cluster, [other], name))] if node else []
    if others:
        return f"{node} has no file called {name}, but {fold(others)} has: run it with that node, or without a node"
    return f"no file is called {name}; without --file all files are shown"


def _print(cluster: Cluster, nodes: list[Node], name: str | None, accounting: str | None) -> int:
    folder = cluster.slurm.file("").rstrip("/")
    files = sorted(_files(cluster, nodes, name), key=lambda one: _rank(one, folder))
    folded = cache(fold)
    printed = [shown for shown in files if name is not None or not _is_program(shown)]
    of_slurm = sum(_rank(shown, folder) < _OTHER for shown in printed)
    bold = _bold if stdout.in_colour else str
    for shown in printed[:of_slurm]:
        _show(shown, folded(tuple(shown.nodes)), bold)
    if accounting is not None:
        print(bold("==> slurmdbd: QoS, accounts, users and their limits (role accounts) <=="), accounting, sep="\n")
    for shown in printed[of_slurm:]:
        _show(shown, folded(tuple(shown.nodes)), bold)
    if len(printed) < len(files):
        print(bold("==> programs of gpupool, in bytes; --file NAME prints one <=="))
    for shown in files[len(printed) :]:
        print(f"{len(shown.file.text.encode()):>7} {shown.file.path} {folded(tuple(shown.nodes))}")
    return len(files)


def _rank(shown: _Shown, folder: str) -> int:
    """Return the sort key of a file: Slurm's files in `folder` first, then others, host names, and programs last."""
    if shown.file.path.rpartition("/")[0] == folder:
        return 0 if shown.role == "slurm" else 1
    return _OTHER + 2 if _is_program(shown) else _OTHER + (shown.file.path == "/etc/hostname")


def _is_program(shown: _Shown) -> bool:
    return shown.file.path.startswith(f"{HOME}/") and shown.file.path.endswith(".py")


def _files(cluster: Cluster, nodes: list[Node], name: str | None) -> Iterable[_Shown]:
    """Return each file once with its nodes; a module of a program is shared by all roles that install it."""
    asked = cache(_asked)
    shared: dict[Hashable, _Shown] = {}  # programs of several roles share modules
    shown: list[_Shown] = []
    for role in FILES:
        of_role = shared.copy()
        for node in nodes:
            for file in files_of(cluster, node, role):
                # hashing and comparing a dataclass in Python would take several times as long
                content = _content(file)
                if content in of_role:
                    of_role[content].nodes[node.name] = None
                elif asked(file.path, name):
                    of_role[content] = _Shown(role, file, {node.name: None})
                    shown.append(of_role[content])
        shared |= {content: one for content, one in of_role.items() if _is_program(one)}
    return shown


def _show(shown: _Shown, nodes: str, bold: Callable[[str], str]) -> None:
    rights = f"({shown.file.owner}:{shown.file.group} {shown.file.mode}, role {shown.role})"
    print(bold(f"==> {nodes}:{shown.file.path} {rights} <=="), shown.file.text, sep="\n")


def _asked(path: str, name: str | None) -> bool:
    return name is None or fnmatchcase(path, name) or fnmatchcase(path.rpartition("/")[2], name)


def _bold(line: str) -> str:
    # rich needs seconds for the headers of ten thousand nodes
    return f"\033[1m{line}\033[0m"


def _chosen(cluster: Cluster, name: str | None) -> list[Node]:
    if name is None:
        return sorted((node for node in cluster.nodes.values() if node.managed), key=lambda node: by_number(node.name))
    if name not in cluster.nodes:
        raise UsageError(f"there is no node {name} in {cluster.name}; see `gpupool check`")
    return [cluster.nodes[name]]


def _write_all(cluster: Cluster, nodes: list[Node], name: str | None, out: Path) -> int:
    folder = _Folder(out)
    count = 0
    for node, file in _asked_of(cluster, nodes, name):
        folder.write(f"{node.name}{file.path}", file.text, int(file.mode, 8))
        count += 1
    return count


def _asked_of(cluster: Cluster, nodes: list[Node], name: str | None) -> Iterator[tuple[Node, File]]:
    for node in nodes:
        yield from ((node, file) for file in files_for(cluster, node) if _asked(file.path, name))


class _Folder:
    """The folder of `--out`. Owners are left out: only root could set them."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._made: set[Path] = set()
        self._large: dict[tuple[str, int], Path] = {}

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file by its path below the folder; GpupoolError with the path if that fails."""
        place = self._top / path
        try:
            self._write(place, text, mode)
        except OSError as error:  # for a full disk, Python does not name the file
            raise GpupoolError(f"{error.filename or place}: {error.strerror}") from None

    def _write(self, place: Path, text: str, mode: int) -> None:
        if place.parent not in self._made:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(place.parent)
        place.unlink(missing_ok=True)
        if len(text) > _LARGE and (same := self._large.setdefault((text, mode), place)) != place:
            # /etc/hosts of ten thousand nodes, ten thousand times, would fill a disk
            with suppress(OSError):
                place.hardlink_to(same)
                return
        # before the text is written, so that other users can never read a file of mode 0600
        place.touch(mode)
        place.chmod(mode | 0o200)
        place.write_text(text, encoding="utf-8")
        if not mode & 0o200:
            place.chmod(mode)
