"""A plan's changes as differences: it compares the inventory with files, and with what systemd and dpkg say."""

import re
from collections.abc import Iterator, Sequence

from gpupool.engine.report import Change
from gpupool.programs.drift.difference import NONE, PUT_BACK, Difference

_UNIT = re.compile(r"(start|restart|reload|enable|disable) (\S+)")
_SAYS = {"start": ("runs", "stopped"), "enable": ("starts at boot", "does not start at boot")}
_SAYS["disable"] = _SAYS["enable"][::-1]
_FOLLOWS = "will change"  # a restart because of a file that is a difference itself


def differences(node: str, changes: Sequence[Change]) -> Iterator[Difference]:
    """Return the differences of a node; several of one unit are one."""
    units: dict[str, list[tuple[str, str, str]]] = {}
    for change in changes:
        step, _, item = change.operation.partition(" | ")
        item, diff = item or step, (change.diff or "").rstrip("\n")
        if unit := _UNIT.fullmatch(item):
            if row := _unit(unit[1], diff):
                units.setdefault(unit[2], []).append(row)
            continue
        kind, columns = _columns(step, item, diff)
        yield Difference(node, kind, item, *columns, PUT_BACK)
    for name, says in units.items():
        inventory, file, live = (", ".join(dict.fromkeys(filter(None, column))) for column in zip(*says, strict=True))
        yield Difference(node, "service", name, inventory, file or NONE, live, PUT_BACK)


def _unit(verb: str, diff: str) -> tuple[str, str, str] | None:
    if says := _SAYS.get(verb):
        return says[0], "", says[1]
    paths = [line.partition(": ")[0] for line in diff.splitlines() if not line.endswith(_FOLLOWS)]
    return (f"runs with {_first(paths)}", "is newer", "runs with an older one") if paths else None


def _columns(step: str, what: str, diff: str) -> tuple[str, tuple[str, str, str]]:
    """Return the kind, and what the inventory, the file and the live system say."""
    lines = diff.splitlines()
    if diff.startswith("--- "):
        return "file", _file(lines)
    if link := re.fullmatch(r"link to (.*?)(?:, now to (.*))?", diff):
        return "link", (f"-> {link[1]}", f"-> {link[2]}" if link[2] else "absent", NONE)
    if diff.startswith("character device"):
        return "hardware", (diff, NONE, "absent, or another device")
    kind = _kind(step, what)
    if diff.startswith("no longer in the inventory"):
        return kind, ("absent", "present", NONE)
    pairs = [line.partition(" becomes ") for line in lines]
    if pairs and all(between for _, between, _ in pairs):
        current, wanted = (_first([_pair(now, after)[at] for now, _, after in pairs]) for at in (0, 1))
        return kind, (wanted, current, NONE) if kind == "file" else (wanted, NONE, current)
    if kind == "package":
        return kind, (_first(lines) if lines else "installed", NONE, "not installed")
    if kind == "mount":
        return kind, (_first(lines), NONE, "not so")
    return kind, (_first(lines) if lines else "present", NONE, "not so")


def _kind(step: str, what: str) -> str:
    if step.startswith("Account"):
        return "accounting"
    if re.match(r"(user|group|numbers of) ", what):
        return "user"
    name = step.lower()
    for word in ("package", "driver", "mount", "pool", "dataset"):
        if word in name:
            return {"driver": "package", "pool": "zfs", "dataset": "zfs"}.get(word, word)
    return "file" if what.startswith("/") else "other"


def _file(lines: Sequence[str]) -> tuple[str, str, str]:
    body = [line for line in lines[2:] if not line.startswith("@@")]
    plus, minus = ([line[1:].strip() for line in body if line.startswith(sign)] for sign in "+-")
    if lines[0] == "--- /dev/null":
        return "present", "absent", NONE
    return _first(plus) or "no such line", _first(minus) or "no such line", NONE


def _pair(now: str, after: str) -> tuple[str, str]:
    """Return `key: 3` and `none` as `key=3` and `key=none`."""
    key, colon, value = now.partition(": ")
    return (f"{key}={value}", f"{key}={after}") if colon else (now, after)


def _first(texts: Sequence[str]) -> str:
    filled = [text for text in texts if text]
    return f"{filled[0]} (and {len(filled) - 1} more)" if len(filled) > 1 else "".join(filled)
