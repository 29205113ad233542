"""The disk-usage.txt files of a node as lines of JSON, for `gpupool storage report`."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpupool.node import files

from . import note, tree
from .audit import owner_of
from .count import Uncounted


def report(top: str, levels: int, file: str, uncounted: Iterable[Uncounted] = ()) -> Iterator[str]:
    """Yield a line for each directory that has its file, then for each directory that the last count skipped.

    The last line has the number of other directories without a file: they are newer than the last count.
    """
    missing, without = 0, {directory.path for directory in uncounted}
    for path, fd, owner in directories(top, levels):
        reported = note.get(fd, file)
        if reported is None:
            missing += tree.shown(path) not in without
            continue
        updated, kib = reported
        yield line(top=top, path=tree.shown(path), kib=kib, updated=updated, owner=owner)
    for entry in uncounted:
        yield line(top=top, **asdict(entry))
    yield line(top=top, missing=missing)


def keep(folder: Path, top: str, uncounted: Iterable[Uncounted]) -> None:
    """Record atomically which directories of a tree a count skipped."""
    folder.mkdir(parents=True, exist_ok=True)
    files.replace(_record_of(folder, top), "".join(f"{line(**asdict(directory))}\n" for directory in uncounted))


def kept(folder: Path, top: str) -> list[Uncounted]:
    """Return the directories that the last count of a tree skipped; none before the first count."""
    path = _record_of(folder, top)
    return [Uncounted(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def _record_of(folder: Path, top: str) -> Path:
    return folder / f"{quote(top, safe='')}.json"


def line(**values: Any) -> str:
    """Return one line of JSON in plain ASCII."""
    return json.dumps(values)


def directories(top: str, levels: int) -> Iterator[tuple[str, int, str]]:
    """Yield (path below the top, descriptor, owner) of each directory down to `levels`, and close it afterwards."""
    fd = tree.open_top(top)
    try:
        yield from _below(fd, "", levels, os.fstat(fd).st_dev)
    finally:
        os.close(fd)


def _below(above: int, path: str, levels: int, device: int) -> Iterator[tuple[str, int, str]]:
    names = [name for name, status in tree.entries(above, lambda *_: None) if tree.is_directory(status)]
    for name in sorted(names):
        if not path and name in tree.OWN:
            continue
        try:
            fd = tree.open_below(above, name, device)
        except OSError:
            continue
        if fd is None:
            continue
        try:
            inner = f"{path}/{name}" if path else name
            yield inner, fd, owner_of(os.fstat(fd).st_uid)
            if levels > 1:
                yield from _below(fd, inner, levels - 1, device)
        finally:
            os.close(fd)
