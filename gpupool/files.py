"""One file a node gets: the unit that `render` prints, roles put, and plans compare."""

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A whole file: absolute path, text, owner, group, mode (octal as text) and the role that it belongs to."""

    path: str
    text: str
    role: str
    owner: str = "root"
    group: str = "root"
    mode: str = "0644"
