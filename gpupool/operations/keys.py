"""Public keys that have left the inventory: they leave the homes to which gpupool has added them."""

import shlex
from collections.abc import Mapping, Sequence

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.homes import Homes, HomeState
from gpupool.facts.keys import RECORD, RecordedKeys
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

_FIRST_ID = 1000  # of users; a home that belongs to the system is not changed
_LINES = 100  # in one script, each of which may contain a key: an argument has at most 128 KiB
_PRELUDE = shell_file(__package__, "keys.sh")


@operation
def managed(wanted: Mapping[str, Sequence[str]], record: str = RECORD) -> Commands:
    """Remove keys in the record that are not in `wanted` (home -> public keys) from authorized_keys; renew the record.

    A key is compared without its options and comment. Keys that only the user has added stay, and so does a file that
    is not a readable plain file: the key stays in the record.
    """
    recorded = look(RecordedKeys, "the record of keys", record=record)
    gone = [(home, key) for home, key in recorded if _key(key) not in {_key(each) for each in wanted.get(home, ())}]
    paths = list(dict.fromkeys(home for home, _ in gone))
    homes: dict[str, HomeState] = look(Homes, "the home directories", paths=paths) if paths else {}
    work = Work(Kind.FILE)
    for home, key in gone:
        _remove(home, key, homes.get(home), work)
    known = set(recorded)
    new = [(home, key.strip()) for home, keys in wanted.items() for key in keys if (home, key.strip()) not in known]
    if new and not work.changes:
        work.differs("record of keys")
    work.lines += [f"printf '%s\\n' {shlex.quote(_line(home, key))} >> \"$record\"" for home, key in new]
    yield from work.carry_out("keys: as recorded", values(record=record) + _PRELUDE, at_once=_LINES)


def _remove(home: str, key: str, now: HomeState | None, work: Work) -> None:
    forget = f"forget {shlex.quote(_line(home, key))}"
    if now is None or now.uid < _FIRST_ID:
        work.lines.append(forget)
        work.differs("record of keys")
    elif now.keys is not None:
        if any(_key(key) in line.split() for line in now.keys):
            note = "1 key removed: not in the inventory"
            work.differs(f"{home}/.ssh/authorized_keys", Aspect(ABSENT, PRESENT, note=note))
            forget = f"{shlex.join(['forbid', home, str(now.uid), str(now.gid), _key(key)])} && {forget} || :"
        else:
            work.differs("record of keys")
        work.lines.append(forget)


def _key(line: str) -> str:
    """Return the base64 part of a public key of the inventory."""
    return line.split()[1]


def _line(home: str, key: str) -> str:
    return f"{home}\t{key}"
