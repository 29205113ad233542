"""Files of an inventory besides its YAML: example jobs, wiki pages, plugins and programs for Slurm, certificates, and
files for nodes."""

import re
from collections.abc import Iterable
from pathlib import Path

from gpupool.cluster import secret_text, slurm_files
from gpupool.cluster.complaints import Complaint, Located, Place

EXAMPLES, WIKI, SLURM, CERTIFICATES, FILES = "examples", "wiki", "slurm", "certificates", "files"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LARGEST = 1_000_000  # bytes of one file: each is sent to nodes, and printed by `render`
_MOST = 200  # files in one folder


def attachments(inventory: Path) -> tuple[dict[str, str], list[Located]]:
    """Return the files by `folder/name`, and complaints about them. An inventory of one YAML file has no such files."""
    files: dict[str, str] = {}
    located: list[Located] = []
    for folder in (inventory / place for place in (EXAMPLES, WIKI, SLURM, CERTIFICATES, FILES)):
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        if len(entries) > _MOST:
            located.append(_complaint(folder, f"{len(entries)} files: the maximum is {_MOST}"))
            continue
        for entry in entries:
            try:
                text = files[f"{folder.name}/{entry.name}"] = _text(entry)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                located.append(_complaint(entry, f"cannot be read: {reason}"))
                continue
            for line, message, hint in _troubles(folder.name, entry.name, text):
                located.append(Located(Place(str(entry), line), Complaint((), message, hint)))
    return files, located


def _troubles(folder: str, name: str, text: str) -> Iterable[tuple[int, str, str | None]]:
    if folder == SLURM:
        return slurm_files.troubles(name, text)
    return secret_text.troubles(text) if folder == FILES else ()


def _text(file: Path) -> str:
    if not _NAME.fullmatch(file.name):
        raise ValueError("its name has other characters than letters, digits, `_`, `.` and `-`")
    if file.is_symlink() and not file.resolve().is_relative_to(file.parents[1].resolve()):
        raise ValueError("a link to a file outside the inventory")
    if not file.is_file():
        raise ValueError("not a file")
    if file.stat().st_size > _LARGEST:
        raise ValueError(f"too large, the maximum is {_LARGEST // 1_000_000} MB")
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text, invalid byte at offset {error.start}") from None


def _complaint(file: Path, message: str) -> Located:
    return Located(Place(str(file), 1), Complaint((), message))
