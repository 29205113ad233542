"""Read YAML as plain data, with the line of each key and item."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from gpupool.cluster.complaints import Complaint, Located, Path, Place

# YAML 1.1 reads 4:00:00 as a number of seconds, `on` and `no` as booleans and 2026-12-31 as a date. In an inventory,
# only these four kinds of plain scalar are not strings.
_SCALARS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("null", re.compile(r"~|null|")),
    ("bool", re.compile(r"true|false")),
    ("int", re.compile(r"-?(0|[1-9][0-9]{0,17})")),
    ("float", re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}")),
)
_DEEP = 50
_MOST = 300_000  # keys and items of all files: 10,000 nodes with an entry each need 100,000
_LARGEST = 20_000_000  # bytes of one file


@dataclass
class Text:
    """The joined files of an inventory: data, the place of each path, and complaints about the YAML."""

    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)
    located: list[Located] = field(default_factory=list)


def read(folder: FilePath, instead: Mapping[FilePath, str] | None = None) -> Text:
    """Read every `*.yml` and `*.yaml` of a folder that is not hidden, or one file, and join them by top-level key.

    `instead` has texts that replace the contents of files. A bad file raises no error: `located` has the complaints.
    """
    text = Text()
    for file in files_of(folder):
        _read_file(file, text, (instead or {}).get(file))
    return text


def files_of(folder: FilePath) -> list[FilePath]:
    """Return the files of an inventory, in the order in which they are read; hidden ones belong to other programs."""
    if not folder.is_dir():
        return [folder]
    return sorted(p for p in folder.iterdir() if p.suffix in (".yml", ".yaml") and not p.name.startswith("."))


def _read_file(file: FilePath, text: Text, instead: str | None) -> None:
    def complain(line: int, message: str, hint: str | None = None, path: Path = ()) -> None:
        text.located.append(Located(Place(str(file), line), Complaint(path, message, hint)))

    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            return complain(1, "cannot be read: a device or a pipe, not a file")
        if file.stat().st_size > _LARGEST:
            return complain(1, f"too large: the maximum is {_LARGEST // 1_000_000} MB")
        source = file.read_text(encoding="utf-8") if instead is None else instead
    except OSError as error:
        return complain(1, f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return complain(1, f"not UTF-8 text: invalid byte at offset {error.start}")
    if beyond := _beyond(source):
        return complain(*beyond)
    try:
        root = yaml.compose(source, Loader=yaml.CBaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        lines = source.splitlines()
        if line <= len(lines) and "\t" in lines[line - 1]:
            return complain(line, "tab in the indentation", "YAML needs spaces")
        parts = [error.context] if (error.problem or "but").startswith("but") else []  # "but …" needs its context
        return complain(line, f"not YAML: {', '.join(filter(None, [*parts, error.problem]))}")
    except yaml.YAMLError as error:
        return complain(1, f"not YAML: {str(error).splitlines()[0]}")
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode):
        return complain(root.start_mark.line + 1, "an inventory file is a mapping of top-level keys, such as nodes:")

    def build(node: yaml.Node, path: Path) -> Any:
        if len(text.places) > _MOST:
            raise RecursionError
        if isinstance(node, yaml.MappingNode):
            return mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            items = []
            for index, item in enumerate(node.value):
                text.places[(*path, index)] = Place(str(file), item.start_mark.line + 1)
                items.append(build(item, (*path, index)))
            return items
        return _scalar(node) if isinstance(node, yaml.ScalarNode) else None

    known: dict[int, list[tuple[yaml.Node, yaml.Node]]] = {}
    taken = 0

    def merged(node: yaml.MappingNode, path: Path) -> list[tuple[yaml.Node, yaml.Node]]:
        """Return the keys of a mapping, with keys of others that `<<` merges; its own override them."""
        nonlocal taken
        if id(node) in known:
            return known[id(node)]
        own = [(key, value) for key, value in node.value if not _merges(key)]
        names = {str(key.value) for key, _ in own}
        for key, value in node.value:
            for source in (value.value if isinstance(value, yaml.SequenceNode) else [value]) if _merges(key) else ():
                if not isinstance(source, yaml.MappingNode):
                    complain(key.start_mark.line + 1, "<< takes a mapping (*name), or a list of them", None, path)
                    continue
                more = [pair for pair in merged(source, path) if str(pair[0].value) not in names]
                names |= {str(name.value) for name, _ in more}
                own += more
                taken += len(source.value)
                if taken > _MOST:
                    raise RecursionError
        known[id(node)] = own
        return own

    def mapping(node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in merged(node, path):
            line = key_node.start_mark.line + 1
            key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                shown = f"the key {key_node.value!r}" if isinstance(key_node, yaml.ScalarNode) else "a key"
                complain(line, f"{shown} is not a string", "put it in quotes", path)
                continue
            here = (*path, key)
            if here in text.places:
                complain(line, f"is defined twice; first at {text.places[here]}", "keep one", here)
                continue
            text.places[here] = Place(str(file), line)
            data[key] = build(value_node, here)
        return data

    try:
        text.data.update(mapping(root, ()))
    except RecursionError:
        complain(1, "an alias (*name) refers to itself or expands too far", "write it out")
    return None


def _beyond(source: str) -> tuple[int, str, str | None] | None:
    """Return (line, message, hint) if a text exceeds the limits of an inventory; None if it may be composed.

    Events come one by one, so that no text exhausts stack or memory here; the composer would end the process. Invalid
    YAML is left to the composer.
    """
    depth = seen = 0
    try:
        for event in yaml.parse(source, Loader=yaml.CBaseLoader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            seen += isinstance(event, yaml.NodeEvent)
            if depth > _DEEP:
                return line, "nested too deeply", f"the maximum is {_DEEP} levels"
            if seen > 2 * _MOST:  # a key and its value are two
                return line, "too long", f"the maximum is {_MOST} keys and items"
            if tag := getattr(event, "tag", None):
                short = tag.replace("tag:yaml.org,2002:", "!!")
                return line, f"{short} is a YAML tag, which inventories do not use", "remove it"
    except yaml.YAMLError:
        pass
    return None


def _merges(key: yaml.Node) -> bool:
    """Return whether a key is YAML's merge key."""
    return isinstance(key, yaml.ScalarNode) and key.value == "<<" and not key.style


def _scalar(node: yaml.ScalarNode) -> Any:
    value: str = node.value
    if node.style or (value[:1].isalpha() and value not in ("null", "true", "false")):
        return value
    kind = next((kind for kind, pattern in _SCALARS if pattern.fullmatch(value)), None)
    match kind:
        case "null":
            return None
        case "bool":
            return value == "true"
        case "int":
            return int(value)
        case "float":
            return float(value)
        case _:
            return value
