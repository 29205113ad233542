"""The newest backups of a cluster, read over SSH into a private folder; nothing is written on a node."""

import hashlib
import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpupool.compile.system.backup import COMMAND
from gpupool.errors import GpupoolError
from gpupool.target import Target

_ALIVE = ("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3")  # a node that hangs is given up after a minute
_LOOK = 300  # seconds for a question
_FETCH = 7200  # seconds for a file


@dataclass(frozen=True)
class Fetched:
    """A backup that lies in our folder: its name on the node, and when it was made in seconds since 1970."""

    name: str
    path: Path
    made: int
    size: int


class Way:
    """SSH to the nodes of a target, with the files that it needs in a private folder."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.folder = folder
        self._config = folder / "ssh_config"
        self._config.write_text(target.ssh_config)

    def ask(self, node: str, script: str, stdin: str = "") -> str:
        """Return what a script prints on a node; GpupoolError with the last line of its errors where it fails."""
        command = self._ssh(node, f"timeout -s KILL {_LOOK} sh -c {shlex.quote(script)}")
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=_LOOK + 60)
        except subprocess.TimeoutExpired:
            raise GpupoolError(f"{node}: no answer in {_LOOK + 60} s") from None
        if done.returncode:
            why = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
            raise GpupoolError(f"{node}: {why}")
        return done.stdout

    def fetch(self, node: str, path: str, into: Path) -> None:
        """Copy a file of a node, readable by its owner alone."""
        into.touch(mode=0o600)
        command = self._ssh(node, f"exec timeout -s KILL {_FETCH} cat -- {shlex.quote(path)}")
        with into.open("wb") as file:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, check=False, timeout=_FETCH + 60
            )
        if done.returncode:
            errors = done.stderr.decode(errors="replace").strip().splitlines()
            raise GpupoolError(f"{node}: {path} cannot be read: {errors[-1] if errors else 'the connection was lost'}")

    def _ssh(self, node: str, command: str) -> list[str]:
        return ["ssh", "-F", str(self._config), *_ALIVE, node, "--", command]


def backups(way: Way, node: str) -> Mapping[str, list[dict[str, Any]]]:
    """Return the backups that a node makes, by kind, the newest first."""
    listed: dict[str, Any] = json.loads(way.ask(node, f"{COMMAND} list"))
    return {kind: answer["backups"] for kind, answer in listed.items()}


def newest(way: Way, node: str, kind: str, name: str = "") -> Fetched:
    """Fetch the newest backup of a kind, or that of a name; GpupoolError where there is none, or its sum is wrong."""
    listed = [it for it in backups(way, node).get(kind, []) if not name or Path(it["path"]).name == name]
    if not listed:
        raise GpupoolError(f"{node}: there is no backup{f' {name}' if name else ''} of the {kind}: run {COMMAND} make")
    path = listed[0]["path"]
    copy = way.folder / Path(path).name
    sums = way.ask(node, f"cat -- {shlex.quote(path + '.sha256')}").split()
    way.fetch(node, path, copy)
    sha = hashlib.sha256()
    with copy.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    if sums[:1] != [sha.hexdigest()]:
        raise GpupoolError(f"{node}: {path}: its checksum is wrong: this backup is damaged")
    return Fetched(copy.name, copy, listed[0]["made"], copy.stat().st_size)


def when(made: int) -> str:
    """Return a moment as people read it."""
    return datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d %H:%M UTC")
