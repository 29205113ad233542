"""The files and facts of a running controller, read by one script over SSH. Nothing is written there."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from gpupool.adopt.folder import Folder
from gpupool.adopt.includes import DEEP
from gpupool.adopt.lines import lines
from gpupool.adopt.slurm_conf import cluster_of
from gpupool.cluster.schema.access import AdminSsh
from gpupool.distributions.slurm import schedmd
from gpupool.errors import GpupoolError, UsageError
from gpupool.remote.door import Machine
from gpupool.remote.nodes import Nodes
from gpupool.shell import shell_file
from gpupool.slurm import reservations

ACCOUNTS = "accounting.cfg"
_SCRIPT = shell_file(__package__, "controller.sh")
_SECONDS = 180.0
_MOST = 200  # included files of one round
_LONGEST = 400  # characters of a path: those of one round have to fit into a command line


@dataclass
class Running:
    """Facts of a controller: its release, slurm.conf's path, slurmctld's path and package, and what was not read.

    The package is "none" if slurmctld is of no package.
    """

    release: str = ""
    conf: str = ""
    owner: str = "none"
    daemon: str = ""
    silent: list[str] = field(default_factory=list)
    reservations: list[str] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)

    @property
    def places(self) -> dict[str, str]:
        """The keys of `slurm` for SchedMD's packages, or for a Slurm of no package that is laid out as usual."""
        if self.owner in schedmd().every:
            return {"packages": "schedmd"}
        daemon, conf = PurePosixPath(self.daemon), PurePosixPath(self.conf)
        if self.owner != "none" or daemon.parts[-2:] != ("sbin", "slurmctld") or conf.name != "slurm.conf":
            return {}
        own = {"packages": "site", "prefix": str(daemon.parents[1])}
        return own if conf.parent == daemon.parents[1] / "etc" else {**own, "etc": str(conf.parent)}


def door(login: str) -> tuple[Machine, str]:
    """Return how to log in as `USER@HOST`, or to HOST by the admin's own SSH configuration, and the host.

    UsageError if it is neither.
    """
    user, at, host = login.rpartition("@")
    try:
        admin = AdminSsh(user=user if at else None)
    except ValidationError:
        admin = None
    if admin is None or not host or host.startswith("-"):
        raise UsageError(f"--from {login}: write HOST or USER@HOST, as for ssh")
    return Machine(admin), host


def copy_from(login: str, into: Path) -> Running:
    """Copy the files of `USER@HOST` (see `door`), as `copy`."""
    machine, host = door(login)
    with Nodes.at(machine, {host: ""}) as nodes:
        return copy(nodes, host, into)


def copy(nodes: Nodes, controller: str, into: Path) -> Running:
    """Copy the files of Slurm on a controller to a folder, included files too, and the accounting as ACCOUNTS.

    Files beside slurm.conf lie at the top of the folder, others at their whole path. GpupoolError if the controller
    cannot be reached or runs no Slurm.
    """
    running = Running()
    _keep(running, _ask(nodes, controller), into)
    if not running.conf or not (into / "slurm.conf").is_file():
        raise GpupoolError(f"{controller}: no slurm.conf was found; copy it to a folder, and use --files")
    asked: set[str] = set()
    for _ in range(DEEP):
        missing = [path for path in dict.fromkeys(_included(into, running.conf)) if path not in asked][:_MOST]
        if not missing:
            break
        asked.update(missing)
        _keep(running, _ask(nodes, controller, *missing), into)
    return running


def _ask(nodes: Nodes, controller: str, *paths: str) -> list[list[str]]:
    out = nodes.output_on(controller, "sh", "-c", _SCRIPT, "sh", *paths, seconds=_SECONDS)
    rows = [line.split("\t") for line in out.splitlines()]
    if not rows or rows[-1] != ["end"]:
        raise GpupoolError(f"{controller}: the answer is incomplete; try again")
    return rows


def _keep(running: Running, rows: list[list[str]], into: Path) -> None:
    for row in rows:
        match row:
            case ["file", path, data]:
                _write(into / _place(path, running.conf), data)
            case ["accounts", data]:
                _write(into / ACCOUNTS, data)
            case ["conf", path]:
                running.conf = path
            case ["release", version]:
                running.release = version
            case ["owner", package]:
                running.owner = package
            case ["daemon", path]:
                running.daemon = path
            case ["silent", node]:
                running.silent.append(node)
            case ["reservations", shown]:
                running.reservations += _reserved(shown)
            case ["cut" | "gone", path]:
                running.not_read.append(path)


def _place(path: str, conf: str) -> PurePosixPath:
    """Return the place of a file in the copy; GpupoolError for a path that leads elsewhere."""
    given = PurePosixPath(path)
    if not given.is_absolute() or ".." in given.parts:
        raise GpupoolError(f"{path}: not a path of a configuration file")
    if path == conf:
        return PurePosixPath("slurm.conf")
    beside = PurePosixPath(conf).parent
    return given.relative_to(beside) if given.is_relative_to(beside) else given.relative_to("/")


def _reserved(encoded: str) -> list[str]:
    try:
        return [*reservations.read(base64.b64decode(encoded))]
    except (KeyError, ValueError) as error:
        raise GpupoolError(f"reservations: the answer of scontrol cannot be read: {error}") from None


def _write(path: Path, encoded: str) -> None:
    try:
        data = base64.b64decode(encoded, validate=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except (OSError, ValueError, binascii.Error) as error:
        raise GpupoolError(f"{path.name}: the controller's answer cannot be kept: {error}") from None


def _included(copied: Path, conf: str) -> Iterator[str]:
    """Yield the paths of included files that the copy lacks."""
    folder = Folder(copied)
    beside = PurePosixPath(conf).parent
    files = sorted(path for path in copied.rglob("*") if path.is_file() and path.name != ACCOUNTS)
    read = {str(path.relative_to(copied)): folder.read(str(path.relative_to(copied))) or "" for path in files}
    cluster = cluster_of(folder)
    for name, text in read.items():
        for line in lines(name, text) if not name.endswith(".lua") else ():
            if line.included is None:
                continue
            named = line.included.replace("%c", cluster)
            path = str(beside / named)
            if len(path) < _LONGEST and ".." not in PurePosixPath(path).parts and folder.find(named, name) is None:
                yield path
