"""NFS exports: those in the node's files, for the clients there, and no others."""

from collections.abc import Iterator

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.exports import Exports, ExportsState
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work
from gpupool.wanted import Export

# the option that excludes another in the table of active exports
_OPPOSITES = {
    "rw": "ro", "sync": "async", "root_squash": "no_root_squash", "no_root_squash": "root_squash", "ro": "rw",
    "all_squash": "no_all_squash",
}  # fmt: skip

_PRELUDE = r"""
set -u; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
output=$(exportfs -r 2>&1) || { printf '%s\n' "$output" >&2; printf '%s\n' "exportfs: $(printf '%s\n' "$output" | tail -n 1)" >&2; exit 1; }
"""  # noqa: E501


@operation
def exported(wanted: list[Export], file: str) -> Commands:
    """Have the kernel export `wanted`, which `file` already contains: to these clients, with these options.

    Exports in other files are not changed. Exports in no file are withdrawn, also those made by hand. Clients whose
    export does not change are not interrupted.
    """
    work = Work(Kind.OTHER)
    for path, differs in _differences(wanted, file, look(Exports, "the exports")):
        work.differs(path, differs)
    yield from work.carry_out(f"{len(wanted)} exports: as wanted", _PRELUDE)


def _differences(wanted: list[Export], file: str, state: ExportsState) -> Iterator[tuple[str, Aspect]]:
    ours = {entry.path: entry for entry in wanted}
    others = {
        (path, client)
        for name, paths in state.named.items()
        if name != file
        for path, clients in paths.items()
        for client in clients
    }
    for entry in wanted:
        active = state.active.get(entry.path, {})
        for client in entry.clients:
            if client not in active:
                yield entry.path, Aspect(f"exported to {client} ({','.join(entry.options)})")
            elif lacking := [option for option in entry.options if not _has(active[client], option)]:
                yield entry.path, Aspect(f"{client} gets {','.join(lacking)}")
    for path, clients in state.active.items():
        for client in clients:
            if (path, client) not in others and (path not in ours or client not in ours[path].clients):
                now = f"exported to {client}"
                yield path, Aspect(ABSENT, now, note=f"no longer {now}")


def _has(active: frozenset[str], option: str) -> bool:
    """Return whether an option is in force; the table adds the path to a mountpoint, and omits some options."""
    name = option.partition("=")[0]
    if name in ("mountpoint", "mp"):
        return any(word.partition("=")[0] in ("mountpoint", "mp") for word in active)
    return option in active and _OPPOSITES.get(option) not in active
