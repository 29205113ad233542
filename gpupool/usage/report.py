"""What the disk-usage.txt files of a node say, as lines of JSON for who asks from afar."""

import json
import os
from collections.abc import Iterator
from typing import Any

from . import note, tree
from .audit import owner_of


def report(top: str, levels: int, file: str) -> Iterator[str]:
    """Give a line for each directory that has its file, then one that says how many have none."""
    missing = 0
    for path, fd, owner in directories(top, levels):
        said = note.get(fd, file)
        if said is None:
            missing += 1
            continue
        updated, kib = said
        yield line(top=top, path=tree.shown(path), kib=kib, updated=updated, owner=owner)
    yield line(top=top, missing=missing)


def line(**values: Any) -> str:
    """Give one line of JSON in plain ASCII."""
    return json.dumps(values)


def directories(top: str, levels: int) -> Iterator[tuple[str, int, str]]:
    """Give (path below the top, open directory, owner) of each directory down to `levels`; it is closed after that."""
    fd = tree.open_top(top)
    try:
        yield from _below(fd, "", levels, os.fstat(fd).st_dev)
    finally:
        os.close(fd)


def _below(above: int, path: str, levels: int, device: int) -> Iterator[tuple[str, int, str]]:
    names = [name for name, it in tree.entries(above, lambda *_: None) if tree.is_directory(it)]
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
