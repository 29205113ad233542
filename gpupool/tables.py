"""Tables with sources as YAML files, and the versions in them."""

from pathlib import Path
from typing import Any

import yaml

Version = tuple[int, ...]


def read(path: Path) -> dict[str, Any]:
    """Return a table unchanged, with its sources."""
    table: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return table


def version(text: str) -> Version:
    """Return a version like `12.4` or `550.163.01` as numbers to compare; ValueError if it has other characters."""
    return tuple(int(part) for part in text.split("."))
