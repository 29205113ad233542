"""The site's file `slurm/accounting.cfg`, in the notation of `sacctmgr dump`."""

from collections.abc import Mapping
from functools import lru_cache

from gpupool.cluster.attachments import SLURM
from gpupool.slurm.dumps import Entry, read

FILE = f"{SLURM}/accounting.cfg"


def entries(attached: Mapping[str, str]) -> tuple[Entry, ...]:
    """Return the entries of the file from an inventory's files by `folder/name`; none without it."""
    return _read(attached.get(FILE, ""))


def accounts(attached: Mapping[str, str]) -> list[str]:
    """Return the accounts of the file, in its order."""
    return [entry.name for entry in entries(attached) if entry.kind == "account" and entry.name != "root"]


def users(attached: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the users of the file, each with its account."""
    return {(entry.name, entry.parent) for entry in entries(attached) if entry.kind == "user"}


@lru_cache(maxsize=4)
def _read(text: str) -> tuple[Entry, ...]:
    return tuple(read(text)[0])
