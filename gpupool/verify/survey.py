"""Read all nodes side by side before the checks: units, ports, credentials, numbers, and loaded configuration."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from typing import TypeVar

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.conf import has_files
from gpupool.compile.slurm.names import spool
from gpupool.compile.units import timed, units
from gpupool.remote.errors import NoAnswerError, RefusedError
from gpupool.remote.nodes import Nodes
from gpupool.remote.tcp import is_silent
from gpupool.shell import shell_file
from gpupool.verify import backend
from gpupool.verify.links import Link, links
from gpupool.verify.unit_state import UnitState

T = TypeVar("T")

_AT_ONCE = 64  # nodes
_GREETING_SECONDS = 8.0  # for the first byte of sshd; a busy node may need longer for the exchange of keys
_DIAL_SECONDS = 3
_SETTLING_SECONDS = 10  # within which a daemon that ends again and again has ended once more
_LOOK = shell_file(__package__, "survey.sh")
_DECODE = shell_file(__package__, "decode.sh")
_DIAL = resources.files(__package__).joinpath("dial.py").read_text(encoding="utf-8")
#: The folder with the configuration that sackd has fetched for Slurm's commands.
_SACKD_FILES = "/run/slurm/conf"


@dataclass(frozen=True)
class Space:
    """The free and total bytes and inodes of the file system of a directory."""

    free: int
    size: int
    free_inodes: int
    inodes: int


@dataclass(frozen=True)
class Seen:
    """The state of a node.

    `unreachable` is the reason if it did not answer; all other fields are then empty. `slurm` is the uid of the user
    slurm. `files` are the sha256 of Slurm's files, by name. `dialled` are the results of its connections. `decodes` is
    unmunge's exit status for a credential of the first controller, `decoded` that of the controller for its credential.
    """

    unreachable: str = ""
    units: Mapping[str, UnitState] = field(default_factory=dict)
    slurm: int | None = None
    credential: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    spaces: Mapping[str, Space] = field(default_factory=dict)
    dialled: Mapping[Link, str] = field(default_factory=dict)
    decodes: int | None = None
    decoded: int | None = None

    def problem(self, unit: str) -> str:
        """Return the problem of a unit; "" if it runs, or is none of this node's."""
        return self.unreachable or (self.units[unit].problem if unit in self.units else "")


def survey(nodes: Nodes, names: Collection[str]) -> dict[str, Seen]:
    """Return the state of the nodes in `names`, and of those on which Slurm's central daemons run."""
    central = [node for node in nodes.target.nodes if node.has("controller", "backup-controller", "database")]
    asked = [node for node in nodes.target.nodes if node.name in names or node in central]
    seen = _settled(nodes, asked, _each(asked, partial(_look, nodes)))
    answered = [node for node in asked if not seen[node.name].unreachable]
    wanted = links(nodes.target.cluster, answered)
    for name, results in _each(answered, lambda node: _dial(nodes, node.name, wanted.get(node.name, ()))).items():
        seen[name] = replace(seen[name], dialled=results)
    return _with_credentials(nodes, nodes.target.cluster.controllers[0].name, seen)


def _settled(nodes: Nodes, asked: Sequence[Node], seen: Mapping[str, Seen]) -> dict[str, Seen]:
    """Look a second time at nodes with units that have just started after restarts, and note the earlier restarts."""
    unsettled = [node for node in asked if any(unit.is_unsettled for unit in seen[node.name].units.values())]
    if not unsettled:
        return dict(seen)
    time.sleep(_SETTLING_SECONDS)
    again = _each(unsettled, partial(_look, nodes))
    for name, state in again.items():
        before = {unit.name: unit.restarts for unit in seen[name].units.values()}
        later = {key: replace(unit, restarts_before=before.get(key)) for key, unit in state.units.items()}
        again[name] = replace(state, units=later)
    return {**seen, **again}


def _each(nodes: Sequence[Node], function: Callable[[Node], T]) -> dict[str, T]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip((node.name for node in nodes), pool.map(function, nodes), strict=True))


def _look(nodes: Nodes, node: Node) -> Seen:
    cluster = nodes.target.cluster
    wanted = [*units(cluster, node), *timed(cluster, node)]
    words = ["slurm", _folder(cluster, node), " ".join(_written(cluster, node)), *wanted]
    if is_silent(nodes.settings(node.name), _GREETING_SECONDS):
        return Seen(unreachable=f"{node.logged_in_at} does not answer")
    try:
        text = nodes.output_on(node.name, "sh", "-c", _LOOK, "survey", *words, seconds=backend.CHECK_SECONDS)
    except (NoAnswerError, RefusedError) as error:
        return Seen(unreachable=str(error).removeprefix(f"{node.name}: "))
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        letter, *values = line.split("\t")
        rows.setdefault(letter, []).append(values)
    uptime = int(rows["W"][0][0])
    shown: dict[str, dict[str, str]] = {}
    for unit, pair in rows.get("U", []):
        key, _, value = pair.partition("=")
        shown.setdefault(unit, {})[key] = value
    numbers = rows.get("I")
    return Seen(
        units={unit: UnitState(unit, keys, uptime) for unit, keys in shown.items()},
        slurm=int(numbers[0][1]) if numbers else None,
        credential=rows["C"][0][0] if "C" in rows else "",
        files={name: sha256 for sha256, name in rows.get("H", [])},
        spaces={path: Space(*map(int, counts)) for path, *counts in rows.get("F", [])},
    )


def _folder(cluster: Cluster, node: Node) -> str:
    """Return the folder from which Slurm's programs on a node read their configuration; "" without one."""
    if not node.runs_slurm:
        return ""
    if has_files(cluster, node):
        return cluster.slurm.file("").rstrip("/")
    return f"{spool(cluster, node)}/conf-cache" if node.has("compute") else _SACKD_FILES


def _written(cluster: Cluster, node: Node) -> list[str]:
    """Return the directories of local file systems that daemons of a node write to."""
    paths = ["/", "/tmp", "/var", "/var/log", "/var/lib/gpupool"]
    if node.has("compute"):
        paths.append(spool(cluster, node))
    if node.has("controller", "backup-controller"):
        paths.append(cluster.slurm.state)
    return [*paths, "/var/lib/mysql"] if node.has("database") else paths


def _dial(nodes: Nodes, name: str, wanted: Sequence[Link]) -> dict[Link, str]:
    if not wanted:
        return {}
    lines = "".join(f"{line}\n" for line in dict.fromkeys(link.line for link in wanted))
    argv = ["python3", "-c", _DIAL, str(_DIAL_SECONDS)]
    try:
        text = nodes.output_on(name, *argv, stdin=lines, seconds=backend.CHECK_SECONDS)
    except (NoAnswerError, RefusedError):
        # a node that is lost from here on has its own message
        return {}
    results = dict(line.rsplit(" ", 1) for line in text.splitlines())
    return {link: results[link.line] for link in wanted if link.line in results}


def _with_credentials(nodes: Nodes, first: str, seen: Mapping[str, Seen]) -> dict[str, Seen]:
    """Return the same states with the results of credentials that the first controller and the others exchange."""
    # a site may run the controller without gpupool
    own = seen[first].credential if first in seen else ""
    others = [name for name, state in seen.items() if name != first and state.credential and own]
    codes = _decode(nodes, first, [seen[name].credential for name in others])
    decoded = dict(zip(others, codes, strict=False))

    def both(name: str) -> tuple[str, Seen]:
        if name not in decoded:
            return name, seen[name]
        answer = _decode(nodes, name, [own])
        return name, replace(seen[name], decodes=answer[0] if answer else None, decoded=decoded[name])

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(pool.map(both, seen))


def _decode(nodes: Nodes, name: str, credentials: Sequence[str]) -> list[int]:
    if not credentials:
        return []
    lines = "".join(f"{credential}\n" for credential in credentials)
    try:
        text = nodes.output_on(name, "sh", "-c", _DECODE, stdin=lines, seconds=backend.CHECK_SECONDS)
    except (NoAnswerError, RefusedError):
        return []
    return [int(line) for line in text.split()]
