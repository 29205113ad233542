"""A YAML text as a tree of spans: the start and end of each value, so that one can be replaced alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

Kind = Literal["scalar", "sequence", "mapping", "alias"]
_BOM = "\ufeff"


@dataclass
class Value:
    """A value and its span in the text. `flow` is true in flow style (`[]`, `{}`); `parts` are its children.

    The parts of a mapping are keys and values in turn. `end` is directly after the value, before blanks, comments and
    line feeds.
    """

    kind: Kind
    start: int
    end: int
    word: str = ""
    flow: bool = False
    parts: list["Value"] = field(default_factory=list)

    def items(self) -> Iterator[tuple[str, "Value"]]:
        """Yield the keys of a mapping with their values."""
        for key, value in zip(self.parts[::2], self.parts[1::2], strict=True):
            yield key.word, value

    def get(self, *keys: str) -> "Value | None":
        """Return the value below keys of mappings; None if it does not exist."""
        at: Value | None = self
        for name in keys:
            if at is None or at.kind != "mapping":
                return None
            at = next((value for key, value in at.items() if key == name), None)
        return at

    def walk(self, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], "Value"]]:
        """Yield every value with its path, this one first."""
        yield path, self
        pairs: Sequence[tuple[str | int, Value]] = (
            list(self.items()) if self.kind == "mapping" else list(enumerate(self.parts))
        )
        for step, value in pairs:
            yield from value.walk((*path, step))


def tree(text: str) -> Value | None:
    """Return the tree of a text; None if the text is empty. ValueError if it is not YAML."""
    shift = len(_BOM) if text.startswith(_BOM) else 0
    root: Value | None = None
    open_: list[Value] = []
    try:
        for event in yaml.parse(text[shift:], Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                done = open_.pop()
                done.end = _index(event.end_mark) + shift if done.flow else done.parts[-1].end
                continue
            value = _begun(event, text, shift)
            if value is None:
                continue
            if open_:
                open_[-1].parts.append(value)
            else:
                root = value
            if value.kind in ("sequence", "mapping"):
                open_.append(value)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {str(error).splitlines()[0]}") from None
    return root


def _begun(event: yaml.Event, text: str, shift: int) -> Value | None:
    if not isinstance(event, yaml.NodeEvent):
        return None
    start, end = _index(event.start_mark) + shift, _index(event.end_mark) + shift
    if isinstance(event, yaml.AliasEvent):
        return Value("alias", start, end, str(event.anchor))
    if isinstance(event, yaml.ScalarEvent):
        # The end mark of a block scalar is where the next token begins.
        end = start + len(text[start:end].rstrip()) if event.style in ("|", ">") else end
        return Value("scalar", start, end, str(event.value))
    if isinstance(event, yaml.CollectionStartEvent):
        kind: Kind = "sequence" if isinstance(event, yaml.SequenceStartEvent) else "mapping"
        return Value(kind, start, end, flow=bool(event.flow_style))
    return None


def _index(mark: Any) -> int:
    return int(mark.index)
