"""What `gpupool render` prints and writes: all files of all nodes, each once."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from gpupool.cli.screen import stdout
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster, Node
from gpupool.compile import FILES, files_for, files_of
from gpupool.compile.programs import HOME
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written
from gpupool.errors import GpupoolError, UsageError
from gpupool.slurm.hostlists import by_number, fold
from gpupool.wanted import File

_LARGE = 65536  # characters
_ACCOUNTING = "accounting.cfg"
_OTHER = 2  # the rank of what is not Slurm's


@dataclass(frozen=True)
class _Shown:
    """A file, the first role that puts it, and the nodes that get it, in order and each once."""

    role: str
    file: File
    nodes: dict[str, None]


def render(inventory: Path, node: str | None, file: str | None, out: Path | None) -> None:
    """Print the files of all nodes or of one, those called `file` alone, or write them to the folder `out`."""
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
            _write(out / _ACCOUNTING, accounting, {})
            beside = f", and {_ACCOUNTING},"
        stdout.print(f"{count} files of {len(nodes)} nodes{beside} in {out}")


def _nowhere(cluster: Cluster, node: str | None, name: str) -> str:
    """Return why there is nothing to show: the file is another node's, or no node's."""
    others = [other.name for other in _chosen(cluster, None) if any(_asked_of(cluster, [other], name))] if node else []
    if others:
        return f"{node} has no file called {name}, but {fold(others)} has: run it with that node, or without a node"
    return f"no file is called {name}; without --file all of them are shown"


def _print(cluster: Cluster, nodes: list[Node], name: str | None, accounting: str | None) -> int:
    files = sorted(_files(cluster, nodes, name), key=_rank)
    folded = cache(fold)
    whole = [shown for shown in files if name is not None or not _is_program(shown)]
    of_slurm = sum(_rank(shown) < _OTHER for shown in whole)
    bold = _bold if stdout.in_colour else str
    for shown in whole[:of_slurm]:
        _show(shown, folded(tuple(shown.nodes)), bold)
    if accounting is not None:
        print(bold("==> slurmdbd: QoS, accounts, users and their limits (role accounts) <=="), accounting, sep="\n")
    for shown in whole[of_slurm:]:
        _show(shown, folded(tuple(shown.nodes)), bold)
    if len(whole) < len(files):
        print(bold("==> programs of gpupool, in bytes; --file NAME prints one <=="))
    for shown in files[len(whole) :]:
        print(f"{len(shown.file.text.encode()):>7} {shown.file.path} {folded(tuple(shown.nodes))}")
    return len(files)


def _rank(shown: _Shown) -> int:
    """Return the place of a file among all: Slurm's own first, programs last, host names before them."""
    if shown.file.path.rpartition("/")[0] == "/etc/slurm":
        return 0 if shown.role == "slurm" else 1
    return _OTHER + 2 if _is_program(shown) else _OTHER + (shown.file.path == "/etc/hostname")


def _is_program(shown: _Shown) -> bool:
    return shown.file.path.startswith(f"{HOME}/") and shown.file.path.endswith(".py")


def _files(cluster: Cluster, nodes: list[Node], name: str | None) -> Iterable[_Shown]:
    shown: dict[tuple[str, File], _Shown] = {}
    for role in FILES:
        for each in nodes:
            for file in files_of(cluster, each, role):
                if _asked(file.path, name):
                    one = _Shown(role, file, {})
                    # programs of several roles share modules
                    shown.setdefault(("" if _is_program(one) else role, file), one).nodes[each.name] = None
    return shown.values()


def _show(shown: _Shown, nodes: str, bold: Callable[[str], str]) -> None:
    rights = f"({shown.file.owner}:{shown.file.group} {shown.file.mode}, role {shown.role})"
    print(bold(f"==> {nodes}:{shown.file.path} {rights} <=="), shown.file.text, sep="\n")


def _asked(path: str, name: str | None) -> bool:
    return name is None or fnmatchcase(path, name) or fnmatchcase(path.rpartition("/")[2], name)


def _bold(line: str) -> str:
    # rich takes seconds for the headers of ten thousand nodes
    return f"\033[1m{line}\033[0m"


def _chosen(cluster: Cluster, name: str | None) -> list[Node]:
    if name is None:
        return sorted((node for node in cluster.nodes.values() if node.managed), key=lambda node: by_number(node.name))
    if name not in cluster.nodes:
        raise UsageError(f"there is no node {name} in {cluster.name}; see `gpupool check`")
    return [cluster.nodes[name]]


def _write_all(cluster: Cluster, nodes: list[Node], name: str | None, out: Path) -> int:
    count = 0
    large: dict[str, Path] = {}
    for each, file in _asked_of(cluster, nodes, name):
        _write(out / each.name / file.path.lstrip("/"), file.text, large)
        count += 1
    return count


def _asked_of(cluster: Cluster, nodes: list[Node], name: str | None) -> Iterator[tuple[Node, File]]:
    for each in nodes:
        yield from ((each, file) for file in files_for(cluster, each) if _asked(file.path, name))


def _write(path: Path, text: str, large: dict[str, Path]) -> None:
    try:
        _put(path, text, large)
    except OSError as error:  # of a full disk Python does not say which file
        raise GpupoolError(f"{error.filename or path}: {error.strerror}") from None


def _put(path: Path, text: str, large: dict[str, Path]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if len(text) > _LARGE and (same := large.setdefault(text, path)) != path:
        # /etc/hosts of ten thousand nodes, ten thousand times, would fill a disk
        with suppress(OSError):
            path.hardlink_to(same)
            return
    path.write_text(text, encoding="utf-8")
