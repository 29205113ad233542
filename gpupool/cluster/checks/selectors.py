"""Check every selector of nodes in the inventory: it parses, and selects nodes that exist."""

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.base import Entry, Selector


def ensure_selectors_name_nodes(site: Site) -> Iterator[Complaint]:
    """Selectors parse, and name roles, GPU types and nodes that exist."""
    for path, selector in selectors(site.inventory) if site.node_table.whole else ():
        table = site.node_table.unnamed if path[0] == "groups" else site.node_table
        try:
            chosen = table.select(selector)
        except ValueError as error:
            yield Complaint(path, str(error))
            continue
        if not chosen:
            yield Complaint(path, f"{selector!r} selects no nodes", severity="warning")


def selectors(entry: Entry, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each selector in an entry, by the types of the schema."""
    for key, annotation in _fields(type(entry)):
        yield from _in_value(getattr(entry, key), annotation, (*path, key))


@cache
def _fields(entry: type[Entry]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of an entry that can contain a selector, with their types."""
    fields = entry.model_fields.items()
    types_of = ((key, Annotated[(field.annotation, *field.metadata, None)]) for key, field in fields)
    return tuple((key, annotation) for key, annotation in types_of if _can_hold(annotation))


def _can_hold(annotation: Any) -> bool:
    if _is_selector(annotation):
        return True
    if isinstance(annotation, type) and issubclass(annotation, Entry):
        return bool(_fields(annotation))
    return any(map(_can_hold, typing.get_args(annotation)))


def _is_selector(annotation: Any) -> bool:
    return any(isinstance(item, Selector) for item in getattr(annotation, "__metadata__", ()))


def _in_value(value: object, annotation: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Entry):
        yield from selectors(value, path)
    elif isinstance(value, str):
        if any(map(_is_selector, _members(annotation))):
            yield path, value
    elif isinstance(value, Mapping | tuple):
        kind = Mapping if isinstance(value, Mapping) else tuple
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        inner = [
            arg for member in _members(annotation) if _is_a(member, kind) for arg in typing.get_args(_bare(member))
        ]
        for key, item in items:
            for argument in filter(_can_hold, inner):
                yield from _in_value(item, argument, (*path, key))


def _members(annotation: Any) -> Iterator[Any]:
    """Yield a type, or the members of a union without the union's metadata."""
    bare = _bare(annotation)
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        for member in typing.get_args(bare):
            yield from _members(member)
    else:
        yield annotation


def _bare(annotation: Any) -> Any:
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is Annotated else annotation


def _is_a(annotation: Any, kind: type) -> bool:
    origin = typing.get_origin(_bare(annotation))
    return isinstance(origin, type) and issubclass(origin, kind)
