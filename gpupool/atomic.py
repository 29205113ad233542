"""Replace files on this machine, completely or not at all."""

import os
import tempfile
from pathlib import Path


def replace(file: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file by a text, with this mode; if that fails, the file is not changed."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
