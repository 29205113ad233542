"""Fake programs of a node, each a shell script by its name."""

import stat
from collections.abc import Mapping
from pathlib import Path


def put(programs: Mapping[str, str], folder: Path) -> None:
    """Write the programs into a folder for PATH, which is created if missing."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text.strip()}\n")
        (folder / name).chmod(stat.S_IRWXU)
