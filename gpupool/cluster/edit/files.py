"""A draft of an inventory: the new texts of its files, checked before they are written."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpupool.cluster.edit import nodes
from gpupool.cluster.load import Loaded, examine
from gpupool.cluster.text import files_of
from gpupool.errors import GpupoolError

_JOURNAL = ".gpupool-edit.json"


@dataclass
class Draft:
    """The texts of an inventory's files: current (`before`) and new (`now`)."""

    inventory: Path
    before: dict[Path, str]
    now: dict[Path, str] = field(default_factory=dict)

    def edit(self, key: str, change: Callable[[str], str]) -> None:
        """Change the file that has a top-level key; GpupoolError if it cannot be edited."""
        for file, text in self.now.items():
            try:
                if nodes.has(text, key):
                    self.now[file] = change(text)
                    return
            except ValueError as error:
                raise GpupoolError(f"{file}: cannot be edited: {error} (edit it by hand)") from None
        raise GpupoolError(f"{self.inventory}: no file has `{key}` (edit it by hand)")

    def edit_all(self, change: Callable[[str], str]) -> None:
        """Change every file; GpupoolError if one cannot be edited."""
        for file, text in self.now.items():
            try:
                self.now[file] = change(text)
            except ValueError as error:
                raise GpupoolError(f"{file}: {error} (edit it by hand)") from None

    @property
    def changed(self) -> dict[Path, str]:
        """The new texts that differ from the files."""
        return {file: text for file, text in self.now.items() if text != self.before[file]}

    def examined(self) -> Loaded:
        """Check the inventory with the new texts."""
        return examine(self.inventory, instead=self.changed)

    def write(self) -> None:
        """Write the texts into the files; if this is killed, `finish` writes the rest.

        GpupoolError if a file has changed.
        """
        changed = self.changed
        for file in changed:
            if _read(file) != self.before[file]:
                raise GpupoolError(f"{file} was changed meanwhile: run the command again")
        if not changed:
            return
        if len(changed) > 1:
            texts = {file.name: [self.before[file], text] for file, text in changed.items()}
            _put(_journal(self.inventory), json.dumps(texts), 0o600)
        for file, text in changed.items():
            _put(file, text)
        _journal(self.inventory).unlink(missing_ok=True)


def draft(inventory: Path) -> Draft:
    """Return a draft of an inventory, after finishing the writes of a killed command."""
    finish(inventory)
    texts = {file: _read(file) for file in files_of(inventory)}
    return Draft(inventory, texts, dict(texts))


def finish(inventory: Path) -> None:
    """Finish the writes of a killed command, except in files that have changed since."""
    journal = _journal(inventory)
    if not journal.is_file():
        return
    texts: Mapping[str, Any] = json.loads(journal.read_text(encoding="utf-8"))
    for file in files_of(inventory):
        before, text = texts.get(file.name, ("", ""))
        if file.name in texts and _read(file) == before:
            _put(file, text)
    journal.unlink()


def _journal(inventory: Path) -> Path:
    return inventory / _JOURNAL if inventory.is_dir() else inventory.with_name(_JOURNAL)


def _read(file: Path) -> str:
    # Keep line endings as they are.
    return file.read_bytes().decode("utf-8")


def _put(file: Path, text: str, mode: int | None = None) -> None:
    """Replace a file atomically, and follow a link."""
    place = file.resolve()
    fresh = place.with_name(f".{place.name}.gpupool-new")
    with fresh.open("wb") as out:
        os.fchmod(out.fileno(), mode if mode is not None else place.stat().st_mode & 0o7777)
        out.write(text.encode("utf-8"))
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(place)
