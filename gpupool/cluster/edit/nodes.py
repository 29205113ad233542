"""Add, change and remove entries in an inventory's text; all other lines stay as they are."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpupool.cluster.edit.ranges import without
from gpupool.cluster.edit.tree import Value, tree
from gpupool.cluster.node_table import expand
from gpupool.slurm.hostlists import fold

#: Keys whose values are selectors; below `groups`, all values are.
SELECTORS = frozenset(("nodes", "where", "mount_on", "links_on", "owns", "vscode_kill"))
_OUTAGES = "out_of_service"
_NAMES = "gateway_forwards_to"  # a list of nodes' names
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*|[0-9]+(\.[0-9]+){2,}|[0-9]+|[0-9]+[KMGTP]")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")

Edit = tuple[int, int, str]  # start, end, and the new text between them


def flow(value: Any) -> str:
    """Return a value as YAML on one line, with quotes only where they are needed."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and not (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.isdigit():
        return json.dumps(value)
    return {"True": "true", "False": "false", "None": "null"}.get(str(value), str(value))


def with_node(text: str, entry: Mapping[str, Any]) -> str:
    """Return a text with another entry at the end of `nodes`."""
    return _applied(text, [_added(text, _nodes(text), flow(entry))])


def with_key(text: str, section: str, key: str, value: Any) -> str:
    """Return a text with another key at the end of the mapping `section`; ValueError if that has no keys."""
    root = tree(text)
    at = root.get(section) if root else None
    if at is None or at.kind != "mapping" or not at.parts:
        raise ValueError(f"{section} is not a mapping with keys")
    line = f"{flow(key)}: {flow(value)}"
    if at.flow:
        return _applied(text, [(at.parts[-1].end, at.parts[-1].end, f", {line}")])
    column = at.parts[0].start - _line_start(text, at.parts[0].start)
    return _applied(text, [_below(text, at.parts[-1].end, column, line)])


def without_node(text: str, name: str) -> str:
    """Return a text without one node in `nodes`: its entry is removed, or its range becomes shorter.

    ValueError if the node cannot be removed separately.
    """
    at = _nodes(text)
    for index, item in enumerate(at.parts):
        names = _several(item, "name")
        if name not in names:
            continue
        if len(names) == 1:
            return _applied(text, [_removed(text, at, index)])
        return _applied(text, list(_shortened(item, name, names)))
    raise ValueError(f"no entry of `nodes` has {name}")


def without_mentions(text: str, name: str) -> str:
    """Return a text whose selectors do not name a node; ValueError if one would then select no node.

    Entries of out_of_service with this node alone are removed.
    """
    while outage := _outage_of(text, name):
        text = _applied(text, outage)
    root = tree(text)
    edits: list[Edit] = []
    for path, value in root.walk() if root else ():
        if value.kind == "scalar" and _selects(path):
            left = without(value.word, name)
            if left != value.word:
                edits.append((value.start, value.end, flow(left)))
        elif value.kind == "sequence" and path[-1:] == (_NAMES,):
            edits += [_removed(text, value, i) for i, part in enumerate(value.parts) if part.word == name]
    return _applied(text, edits)


def with_value(text: str, path: tuple[str, ...], word: str) -> str:
    """Return a text with another scalar at a path; the same text if there is no scalar."""
    root = tree(text)
    at = root.get(*path) if root else None
    return text if at is None or at.kind != "scalar" else _applied(text, [(at.start, at.end, word)])


def has(text: str, key: str) -> bool:
    """Return whether a text has a top-level key."""
    root = tree(text)
    return root is not None and root.get(key) is not None


def _outage_of(text: str, name: str) -> list[Edit]:
    """Return the removal of the first entry of out_of_service that has no other node than this one."""
    root = tree(text)
    at = root.get(_OUTAGES) if root else None
    if root is None or at is None or at.kind != "sequence":
        return []
    alone = [index for index, item in enumerate(at.parts) if _is_alone(item.get("nodes"), name)]
    if not alone:
        return []
    if len(at.parts) > 1:
        return [_removed(text, at, alone[0])]
    if at.flow:
        return [(at.start, at.end, "[]")]
    key = next(key for key in root.parts[::2] if key.word == _OUTAGES)
    colon = text.index(":", key.end) + 1
    return [(colon, colon, " []"), _removed(text, at, 0)]


def _is_alone(selector: Value | None, name: str) -> bool:
    if selector is None or selector.kind != "scalar":
        return False
    try:
        without(selector.word, name)
    except ValueError:
        return True
    return False


def _nodes(text: str) -> Value:
    root = tree(text)
    at = root.get("nodes") if root else None
    if at is None or at.kind != "sequence" or not at.parts:
        raise ValueError("`nodes` is not a list with entries")
    return at


def _several(item: Value, *path: str) -> list[str]:
    at = item.get(*path)
    return expand(at.word) if at and at.kind == "scalar" else []


def _selects(path: tuple[str | int, ...]) -> bool:
    if not path or path[0] == "nodes":
        return False
    return path[-1] in SELECTORS or (path[0] == "groups" and len(path) == 2)


def _shortened(item: Value, name: str, names: list[str]) -> Iterator[Edit]:
    index = names.index(name)
    further = item.get("addresses")
    networks = [key.word for key in further.parts[::2]] if further and further.kind == "mapping" else []
    for path in (("name",), ("address",), *(("addresses", network) for network in networks)):
        at, values = item.get(*path), _several(item, *path)
        if at and values:
            yield at.start, at.end, flow(fold([*values[:index], *values[index + 1 :]]))


def _added(text: str, at: Value, entry: str) -> Edit:
    last = at.parts[-1]
    if at.flow:
        return last.end, last.end, f", {entry}"
    dash = text.rindex("-", 0, last.start)
    return _below(text, last.end, dash - _line_start(text, dash), f"- {entry}")


def _below(text: str, end: int, column: int, line: str) -> Edit:
    """Return the insertion of a line after the value that ends at `end`, and after its more indented comments."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+", text[end:]) or [""]
    taken = after = len(lines[0])
    for below in lines[1:]:
        taken += len(below)
        bare = below.strip()
        if bare and not (bare.startswith("#") and len(below) - len(below.lstrip()) > column):
            break
        if bare:
            after = taken
    at = end + after
    line = " " * column + line
    return (at, at, line + newline) if text[:at].endswith("\n") else (at, at, newline + line)


def _removed(text: str, at: Value, index: int) -> Edit:
    if at.flow:
        return _removed_from_row(text, at, index)
    item = at.parts[index]
    dash = text.rindex("-", 0, item.start)
    begin = _line_start(text, dash)
    if text[begin:dash].strip():
        raise ValueError("the entry is on a line with another one")
    stop = text.find("\n", item.end)
    if stop < 0:
        # The last line has no line feed, so the line feed before it is removed.
        before = text[:begin]
        return len(before.removesuffix("\n").removesuffix("\r")), len(text), ""
    return begin, stop + 1, ""


def _removed_from_row(text: str, at: Value, index: int) -> Edit:
    item = at.parts[index]
    if index:
        between = (at.parts[index - 1].end, item.start)
        begin, stop = between[0], item.end
    elif len(at.parts) > 1:
        between = (item.end, at.parts[1].start)
        begin, stop = item.start, at.parts[1].start
    else:
        return item.start, item.end, ""
    if "#" in text[slice(*between)]:
        raise ValueError("a comment is between the entry and its neighbour")
    return begin, stop, ""


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _applied(text: str, edits: list[Edit]) -> str:
    for start, end, word in sorted(edits, reverse=True):
        text = text[:start] + word + text[end:]
    return text
