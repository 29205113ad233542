"""Values that pyinfra's command line can print: its JSON encoder calls `to_json`."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass


class Shown:
    """The base class of a dataclass that `pyinfra … fact` and `debug-inventory` print."""

    def to_json(self) -> object:
        """Return the fields of the value, as `as_data` has them."""
        return as_data(self)


def as_data(value: object) -> object:
    """Return a value of dataclasses, mappings and sequences as JSON has it.

    A dataclass and a mapping are objects; a key that is a tuple is its words, separated by spaces. A set is a sorted
    list.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {
            " ".join(map(str, key)) if isinstance(key, tuple) else key: as_data(item) for key, item in value.items()
        }
    if isinstance(value, (set, frozenset)):
        return sorted((as_data(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [as_data(item) for item in value]
    return value
