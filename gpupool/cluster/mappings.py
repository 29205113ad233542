"""The mappings of the inventory language, each with the keys that it has."""

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from gpupool.cluster.complaints import Path
from gpupool.cluster.schema import Inventory

NAME = "NAME"  # in a form: any key of a mapping whose keys are the site's own names


def keys_at(path: Path) -> list[str]:
    """Return the keys that the schema has at a path; none if they are the site's own names."""
    model = _model_in(_walked(path)[0])
    return list(_fields(model)) if model else []


def form(path: Path) -> str:
    """Return the form of a path, as in the documentation: `nodes[].gpus.NAME` for `nodes[3].gpus.a40`."""
    return _walked(path)[1]


@cache
def mappings() -> Mapping[str, list[str]]:
    """Return the form of each mapping of the schema, with its keys; the inventory itself has an empty form."""
    return {of: list(_fields(model)) for of, model in _mappings("", Inventory)}


def _mappings(of: str, annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    if model := _model_in(annotation):
        yield of, model
        for key, inner in _fields(model).items():
            yield from _mappings(_joined(of, key), _without_none(inner))
    elif (inner := _item(annotation)) is not None:
        yield from _mappings(_inside(of, annotation), inner)


def _walked(path: Path) -> tuple[Any, str]:
    """Return the annotation at a path, and the path's form."""
    here, of = Inventory, ""
    for step in path:
        model = _model_in(here)
        if model is None:
            of, here = _inside(of, here), _item(here)
        else:
            of, here = _joined(of, str(step)), _without_none(_fields(model).get(str(step)))
    return here, of


def _inside(of: str, annotation: Any) -> str:
    return _joined(of, NAME) if typing.get_origin(annotation) is dict else f"{of}[]"


def _joined(of: str, key: str) -> str:
    return f"{of}.{key}" if of else key


def _item(annotation: Any) -> Any:
    """Return the annotation of a list's items, or of a mapping's values; None if it is neither."""
    args = [arg for arg in typing.get_args(annotation) if arg is not Ellipsis]
    return _without_none(args[-1]) if args else None


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    is_model = isinstance(annotation, type) and not typing.get_origin(annotation) and issubclass(annotation, BaseModel)
    return annotation if is_model else None


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) is typing.Annotated:
        return _without_none(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((a for a in typing.get_args(annotation) if a is not type(None)), None)
    return annotation
