"""Home directories: made once from the skeleton, never emptied, moved or removed; keys are added, never taken."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.homes import Homes, HomeState
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.disk import DISK
from gpupool.operations.refusal import refuse
from gpupool.shell import shell_file
from gpupool.wanted import Folder

# in one remote call: far below the 128 KiB that one argument may have; a line may hold a key
_PATHS, _LINES = 1000, 100
_PRELUDE = DISK + shell_file(__package__, "homes.sh")


@operation()
def present(homes: list[Folder], skeleton: dict[str, str] | None = None) -> Generator[StringCommand, None, None]:
    """Have these homes; one that is there keeps its mode and contents, another owner's is refused in words.

    A new one begins as a copy of the node's /etc/skel with the files of `skeleton` (name in the home: text) in it.
    An authorized_keys that cannot be read as a plain file is left alone, without a word: it is its owner's.
    """
    state: dict[str, HomeState] = {}
    for first in range(0, len(homes), _PATHS):
        part = this_host().get_fact(Homes, paths=[home.path for home in homes[first : first + _PATHS]])
        if part is None:
            yield from refuse("cannot read the home directories: no answer within 60 s")
            return
        state |= part
    strangers = [home for home in homes if home.path in state and state[home.path].uid != home.uid]
    if strangers:
        whose = ", ".join(f"{home.path} belongs to uid {state[home.path].uid}, not {home.uid}" for home in strangers)
        yield from refuse(f"{whose}; change its owner by hand")
        return
    lines: list[str] = []
    changes: dict[str, str | None] = {}
    for home in homes:
        _work(home, state.get(home.path), lines, changes)
    diffs.record(changes)
    if not lines:
        this_host().noop(f"{len(homes)} homes: as wanted")
        return
    texts = skeleton or {}
    head = [_PRELUDE.strip(), *(f"file {shlex.quote(name)} {len(text.encode())}" for name, text in texts.items())]
    for first in range(0, len(lines), _LINES):
        yield StringCommand("\n".join([*head, *lines[first : first + _LINES]]), _stdin="".join(texts.values()))


def _work(home: Folder, now: HomeState | None, lines: list[str], changes: dict[str, str | None]) -> None:
    if now is None:
        lines.append(shlex.join(["home", home.path, str(home.uid), str(home.gid), home.mode]))
        changes[home.path] = f"created for uid {home.uid}\n"
    has = () if now is None else now.keys
    missing = [key for key in home.keys if has is not None and key.strip() not in has]
    for key in missing:
        lines.append(shlex.join(["allow", home.path, str(home.uid), str(home.gid), key.strip()]))
    if missing and now is not None:
        changes[f"{home.path}/.ssh/authorized_keys"] = f"{len(missing)} keys added\n"
