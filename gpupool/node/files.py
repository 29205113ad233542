"""Replace files atomically: a reader sees the old file or the new one, never a part."""

import os
from pathlib import Path


def replace(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file by one with this text and exactly this mode; if writing fails, the old file is unchanged.

    Another user may own the folder, so links there are not followed. The new file has a hidden name until it is
    complete.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
