"""An inventory that is to be written: the texts of its files as they would be, checked before anything is put."""

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
    """The texts of an inventory's files, as they are (`before`) and as they shall be (`now`)."""

    inventory: Path
    before: dict[Path, str]
    now: dict[Path, str] = field(default_factory=dict)

    def edit(self, key: str, change: Callable[[str], str]) -> None:
        """Change the file that has a top-level key. GpupoolError where it cannot be done."""
        for file, text in self.now.items():
            try:
                if nodes.has(text, key):
                    self.now[file] = change(text)
                    return
            except ValueError as error:
                raise GpupoolError(f"{file}: cannot be edited: {error} (edit it by hand)") from None
        raise GpupoolError(f"{self.inventory}: no file has `{key}` (edit it by hand)")

    def edit_all(self, change: Callable[[str], str]) -> None:
        """Change every file. GpupoolError where it cannot be done."""
        for file, text in self.now.items():
            try:
                self.now[file] = change(text)
            except ValueError as error:
                raise GpupoolError(f"{file}: {error} (edit it by hand)") from None

    @property
    def changed(self) -> dict[Path, str]:
        """The texts that differ from what the files hold."""
        return {file: text for file, text in self.now.items() if text != self.before[file]}

    def examined(self) -> Loaded:
        """Check the inventory as it shall be."""
        return examine(self.inventory, instead=self.changed)

    def write(self) -> None:
        """Put the texts into the files: all, even if this is killed meanwhile and `finish` comes later."""
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
    """Return an inventory to be changed, after finishing what a killed command has begun to write."""
    finish(inventory)
    texts = {file: _read(file) for file in files_of(inventory)}
    return Draft(inventory, texts, dict(texts))


def finish(inventory: Path) -> None:
    """Put what a command that was killed had still to put; a file that was changed since stays as it is."""
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
    # line feeds as they are
    return file.read_bytes().decode("utf-8")


def _put(file: Path, text: str, mode: int | None = None) -> None:
    """Replace a file whole or not at all; a link is followed."""
    place = file.resolve()
    fresh = place.with_name(f".{place.name}.gpupool-new")
    with fresh.open("wb") as out:
        os.fchmod(out.fileno(), mode if mode is not None else place.stat().st_mode & 0o7777)
        out.write(text.encode("utf-8"))
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(place)
