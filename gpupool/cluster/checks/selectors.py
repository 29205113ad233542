"""Check every selector of nodes in the inventory: it parses, and selects nodes that exist."""

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.partitions import ACCOUNT
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.base import Entry, Selector


def ensure_selectors_name_nodes(site: Site) -> Iterator[Complaint]:
    """Selectors parse, and name roles, GPU types and nodes that exist."""
    tables = {"groups": site.node_table.unnamed, "accounts": site.node_table.unowned}
    for path, selector in _of_partitions_filled(site) if site.node_table.whole else ():
        try:
            chosen = tables.get(str(path[0]), site.node_table).select(selector)
        except ValueError as error:
            yield Complaint(path, str(error))
            continue
        if not chosen:
            yield Complaint(path, f"{selector!r} selects no nodes", severity="warning")


def _of_partitions_filled(site: Site) -> Iterator[tuple[Path, str]]:
    """Yield all selectors, those of partitions as `for_each` fills them in."""
    filled: dict[Path, list[str]] = {}
    for at, partition in site.partitions():
        filled.setdefault((*at, "nodes"), []).append(partition.nodes)
    for path, selector in selectors(site.inventory):
        if path[0] != "partitions":
            yield path, selector
        else:
            yield from ((path, each) for each in filled.get(path, ()) if ACCOUNT not in each)


def ensure_partitions_of_owners_have_owners(site: Site) -> Iterator[Complaint]:
    """An account has nodes for each entry of partitions with `@owner:{account}`."""
    made = {path for path, _ in site.partitions()}
    for index, entry in enumerate(site.inventory.partitions):
        if ACCOUNT not in entry.nodes:
            continue
        here = ("partitions", index, "nodes")
        if entry.for_each is None:
            yield Complaint(here, f"{ACCOUNT} needs for_each, which says whose nodes these are", "add for_each: lab")
        elif here[:2] not in made and site.accounts_of_kind(entry.for_each):
            message = f"no account of the kind {entry.for_each} owns nodes, so there is no such partition"
            yield Complaint(here, message, "write nodes in `owns` of labs: `owns: a40-[01-04]`", "warning")


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
