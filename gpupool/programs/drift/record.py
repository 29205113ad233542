"""Files and links that differ from the record of the last apply on this node."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

#: Lines: a path, a tab, and its sha256, "-> TARGET", or "replaced" if gpupool replaced an existing file.
RECORD = Path("/var/lib/gpupool/files")


def changed(record: Path = RECORD) -> Iterator[tuple[str, str, str]]:
    """Yield "file" or "link", the path, and "absent", "another target" or "changed since the last apply"."""
    try:
        lines = record.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        name, _, put = line.partition("\t")
        path = Path(name)
        kind = "link" if put.startswith("-> ") else "file"
        if not path.is_symlink() and not path.exists():
            yield kind, name, "absent"
        elif kind == "link":
            if not path.is_symlink() or f"-> {path.readlink()}" != put:
                yield kind, name, "another target"
        elif put != "replaced" and (not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != put):
            yield kind, name, "changed since the last apply"
