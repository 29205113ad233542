"""The state of a testbed between commands: a folder with its key, its known hosts and one small JSON file."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gpupool.documents.testbed import StateEntry
from gpupool.errors import TestbedError
from gpupool.testbed import keys


@dataclass(frozen=True)
class State:
    """A testbed after its last `up`; paths are absolute, `nodes` are addresses by name, `machines` virtual machines.

    `shapes` are digests of the nodes' properties that only another `up` can change. `spares` are as in the Spec.
    """

    id: str
    name: str
    prefix: str
    inventory: str
    network: str
    domain: str
    suite: str
    cgroups: Literal["v1", "v2"]
    images: dict[str, str]
    nodes: dict[str, str]
    roles: dict[str, list[str]]
    key: str
    known_hosts: str
    ssh_config: str
    machines: list[str] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)
    spares: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> StateEntry:
        """Return the state as plain JSON types."""
        return {
            "id": self.id,
            "name": self.name,
            "prefix": self.prefix,
            "inventory": self.inventory,
            "network": self.network,
            "domain": self.domain,
            "suite": self.suite,
            "cgroups": self.cgroups,
            "images": self.images,
            "nodes": self.nodes,
            "roles": self.roles,
            "key": self.key,
            "known_hosts": self.known_hosts,
            "ssh_config": self.ssh_config,
            "machines": self.machines,
            "shapes": self.shapes,
            "spares": self.spares,
        }


def folder(testbed: str) -> Path:
    """Return the path of this testbed's state, which may not exist."""
    return _root() / testbed


def _root() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "gpupool" / "testbeds"


def _make(place: Path) -> None:
    """Make a folder below `_root`; TestbedError with the way out if that is impossible, as in a read-only home."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise TestbedError(
            f"{error.filename}: {error.strerror}: gpupool keeps testbeds there; "
            "set XDG_STATE_HOME to a folder that you can write"
        ) from None


def note_tried(inventory: Path) -> None:
    """Record that someone wanted a testbed of this inventory; the record stays after `down`."""
    note = _note(inventory)
    _make(note.parent)
    keys.write(note, f"{inventory.resolve()}\n")


def was_tried(inventory: Path) -> bool:
    """Return whether this inventory has had a testbed on this machine, or should have had one."""
    return _note(inventory).exists()


def _note(inventory: Path) -> Path:
    return _root() / ".tried" / hashlib.sha256(str(inventory.resolve()).encode()).hexdigest()[:16]


def every() -> list[State]:
    """Return all testbeds of this machine whose state can be read; the last started comes first."""
    states = []
    for path in sorted(_root().glob("*/state.json"), key=lambda path: -path.stat().st_mtime):
        with suppress(TestbedError):
            states.append(load(path.parent.name))
    return states


def made_from(inventory: Path, *, name: str | None = None, prefix: str | None = None) -> list[State]:
    """Return the testbeds of this inventory, however its path is written; the last started comes first."""
    wanted = inventory.resolve()
    return [
        state
        for state in every()
        if Path(state.inventory).resolve() == wanted and name in (None, state.name) and prefix in (None, state.prefix)
    ]


def find(inventory: Path, *, name: str | None = None, prefix: str | None = None) -> State:
    """Return the testbed of this inventory, selected by name and prefix; TestbedError if there is none or several.

    The inventory itself is not read, so a testbed can be shown and removed while its inventory has errors.
    """
    states = made_from(inventory, name=name, prefix=prefix)
    if not states:
        called = f" called {name}" if name else ""
        raise TestbedError(
            f"there is no testbed{called} of {inventory} on this machine: start it with gpupool testbed up {inventory}"
        )
    if len(states) > 1:
        names = " or ".join(f"--name {state.name}" for state in states)
        raise TestbedError(f"there are {len(states)} testbeds of {inventory} on this machine: choose one with {names}")
    return states[0]


def load(testbed: str) -> State:
    """Return the state of a testbed; TestbedError if there is none."""
    try:
        return State(**json.loads((folder(testbed) / "state.json").read_text()))
    except FileNotFoundError as error:
        raise TestbedError(
            f"there is no testbed {testbed} on this machine: start it with gpupool testbed up"
        ) from error
    except (ValueError, TypeError) as error:
        raise TestbedError(
            f"cannot read the state of testbed {testbed}: run gpupool testbed up to recreate it"
        ) from error


def save(state: State) -> None:
    """Write the state atomically."""
    keys.write(folder(state.id) / "state.json", json.dumps(state.as_dict(), indent=2) + "\n")


def forget(testbed: str) -> None:
    """Remove the state of a testbed."""
    shutil.rmtree(folder(testbed), ignore_errors=True)


@contextmanager
def locked(testbed: str) -> Iterator[Path]:
    """Lock a testbed for one command that changes it, until its process ends; TestbedError if it is locked already."""
    place = folder(testbed)
    _make(place)
    # Not inside the folder, because `down` removes the folder.
    with place.with_name(f".{testbed}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TestbedError(
                f"another command is using testbed {testbed}: wait for it to end, then try again"
            ) from error
        place.mkdir(exist_ok=True, mode=0o700)
        yield place
