"""The CPUs of a node as its line in slurm.conf counts them: boards, sockets, cores and threads, slurm.conf(5)."""

from collections.abc import Mapping

#: The keys of a node's line that say where its CPUs are, in lower case.
KEYS = frozenset(("boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"))


def cores_and_threads(parameters: Mapping[str, str], cpus: int) -> tuple[int, int] | None:
    """Return the cores of a node and the threads of each, by keys in any case; None if there is none of these keys.

    A value that is no number counts as 0. Missing sockets follow from the CPUs.
    """
    words = {key.lower(): int(value) if value.isdecimal() else 0 for key, value in parameters.items()}
    if not KEYS & words.keys():
        return None
    each, threads = words.get("corespersocket", 1), words.get("threadspercore", 1)
    on_boards = words["socketsperboard"] * words.get("boards", 1) if "socketsperboard" in words else None
    sockets = words.get("sockets", on_boards)
    return (max(1, cpus // max(1, each * threads)) if sockets is None else sockets) * each, threads
