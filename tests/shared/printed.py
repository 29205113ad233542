"""The output of a command with `--json`, compared with its published JSON Schema."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from gpupool.documents.schema import DOCUMENTS, schema_of


def command_of(arguments: list[str]) -> str | None:
    """Return the command of a command line that prints JSON; None if it prints something else."""
    names = [" ".join(arguments[:count]) for count in (1, 2)]
    return next((name for name in names if name in DOCUMENTS), None) if "--json" in arguments else None


def problems(command: str, document: Mapping[str, Any]) -> list[str]:
    """Return what differs from the schema. A key that it does not have is an error here, unlike for programs."""
    return [
        f"{command}: {'.'.join(map(str, error.absolute_path))}: {error.message}"
        for error in _validator(command).iter_errors(document)
    ]


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(_closed(schema_of(command)))


def _closed(part: Any) -> Any:
    """Return a schema in which each object has only the keys that are described."""
    if isinstance(part, list):
        return [_closed(below) for below in part]
    if not isinstance(part, dict):
        return part
    more = {"additionalProperties": False} if part.get("type") == "object" and "properties" in part else {}
    return {**{key: _closed(below) for key, below in part.items()}, **more}
