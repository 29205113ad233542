"""Home directories: created from the skeleton, never emptied, moved or removed; keys are added."""

import shlex

from gpupool.change import Aspect, Kind
from gpupool.facts.directory import Members
from gpupool.facts.homes import Homes, HomeState
from gpupool.operations.ambient import this_host
from gpupool.operations.disk import DISK
from gpupool.operations.frame import WAITS, Commands, Refused, look, operation
from gpupool.operations.members import people
from gpupool.operations.refusal import REFUSED
from gpupool.operations.work import Work
from gpupool.reasons import Reason
from gpupool.shell import shell_file
from gpupool.wanted import Folder, Roster

# paths in one command, and lines in one script, each of which may contain a key: an argument has at most 128 KiB
_PATHS, _LINES = 1000, 100
_PRELUDE = DISK + shell_file(__package__, "homes.sh")


@operation
def present(homes: list[Folder], skeleton: dict[str, str] | None = None) -> Commands:
    """Have these homes; an existing home keeps its mode and contents, and one with another owner is refused.

    A new home is a copy of the node's /etc/skel with the files of `skeleton` (name in the home: text).
    An authorized_keys that is not a readable plain file is neither changed nor reported: it belongs to the user.
    """
    yield from have(homes, skeleton)


@operation
def of_members(
    paths: list[str], roster: Roster, mode: str = "0700", skeleton: dict[str, str] | None = None
) -> Commands:
    """Have homes of the directory's members at `paths`, in which {user} is replaced by the name.

    If the directory does not answer, no home is created, and the operation does not fail.
    """
    state = look(Members, "the directory", domain=roster.domain, groups=list(dict.fromkeys(roster.groups.values())))
    fit, _ = people(state, roster)
    if state.away or not fit:
        this_host().noop(f"no home is missing, as far as is known ({state.away or 'no members'})")
        return
    yield from have(
        [Folder(path.replace("{user}", person.name), person.uid, person.gid, mode) for path in paths for person in fit],
        skeleton,
        WAITS,
    )


def have(homes: list[Folder], skeleton: dict[str, str] | None = None, strange: Reason = REFUSED) -> Commands:
    """Do what `present` does, as part of another operation; `strange` is the code for a home of another owner."""
    state: dict[str, HomeState] = {}
    for first in range(0, len(homes), _PATHS):
        part = look(Homes, "the home directories", paths=[home.path for home in homes[first : first + _PATHS]])
        state |= part
    strangers = [home for home in homes if home.path in state and state[home.path].uid != home.uid]
    if strangers:
        whose = ", ".join(f"{home.path} belongs to uid {state[home.path].uid}, not {home.uid}" for home in strangers)
        raise Refused(f"{whose}; change its owner by hand", strange)
    texts = skeleton or {}
    work = Work(Kind.FILE, texts=list(texts.values()))
    for home in homes:
        _compare(home, state.get(home.path), work)
    files = [f"file {shlex.quote(name)} {len(text.encode())}" for name, text in texts.items()]
    yield from work.carry_out(f"{len(homes)} homes: as wanted", "\n".join([_PRELUDE.strip(), *files]), at_once=_LINES)


def _compare(home: Folder, now: HomeState | None, work: Work) -> None:
    owner = (str(home.uid), str(home.gid))
    if now is None:
        differs = Aspect(f"uid {home.uid}", note=f"created for uid {home.uid}")
        work.do(home.path, differs, "home", home.path, *owner, home.mode)
    has = () if now is None else now.keys
    missing = [key for key in home.keys if has is not None and key.strip() not in has]
    for key in missing:
        work.run("allow", home.path, *owner, key.strip())
    if missing and now is not None:
        differs = Aspect(f"{len(home.keys)} keys", f"{len(missing)} less", note=f"{len(missing)} keys added")
        work.differs(f"{home.path}/.ssh/authorized_keys", differs)
