"""Temporary folders of pytest that other users can enter."""

import tempfile
from pathlib import Path


def open_to_all(folder: Path) -> Path:
    """Return a folder below the one for temporary files, which every user can enter."""
    top = Path(tempfile.gettempdir()).resolve()
    for each in (folder, *folder.resolve().parents):
        if each.resolve() == top:
            break
        each.chmod(0o755)
    return folder
