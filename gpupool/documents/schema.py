"""The JSON Schema of each document that a command prints with `--json`."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import get_original_bases, is_typeddict

from gpupool.documents.adopt import AdoptDocument
from gpupool.documents.inventory import CheckDocument, ExplainDocument
from gpupool.documents.nodes import MaintainDocument, OnboardDocument, RetireDocument
from gpupool.documents.rehearsal import PromisesDocument, RehearseDocument
from gpupool.documents.runs import DrillDocument, RecoveryDocument, ReportDocument, RunDocument
from gpupool.documents.state import DriftDocument, LogDocument, UsageDocument, VerifyDocument
from gpupool.documents.testbed import DownDocument, StatusDocument, UpDocument
from gpupool.documents.version import FORMAT_VERSION

#: The documents of each command; a command with options such as `restore --drill` has several.
DOCUMENTS: Mapping[str, tuple[type, ...]] = {
    "check": (CheckDocument,),
    "explain": (ExplainDocument,),
    "adopt": (AdoptDocument,),
    "plan": (RunDocument,),
    "apply": (RunDocument,),
    "verify": (VerifyDocument,),
    "drift": (DriftDocument,),
    "log": (LogDocument,),
    "maintain": (MaintainDocument,),
    "onboard": (OnboardDocument,),
    "retire": (RetireDocument,),
    "rehearse": (RehearseDocument, PromisesDocument),
    "restore": (ReportDocument, DrillDocument, RecoveryDocument),
    "storage report": (UsageDocument,),
    "testbed up": (UpDocument,),
    "testbed down": (DownDocument,),
    "testbed status": (StatusDocument,),
}
_VERSION = {
    "const": FORMAT_VERSION,
    "description": "Version of the form. It grows if a key is removed, renamed or gets another meaning.",
    "title": "Format Version",
    "type": "integer",
}


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command of `DOCUMENTS` prints; it allows further keys, which may come later."""
    kinds = [_schema(kind) for kind in DOCUMENTS[command]]
    entries = {name: entry for kind in kinds for name, entry in kind.pop("$defs", {}).items()}
    whole = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": f"gpupool {command} --json",
        "$defs": entries,
    }


def _schema(document: type) -> dict[str, Any]:
    _describe(document)
    schema = TypeAdapter(document).json_schema()
    # pydantic reads the docstrings of a class without those of its bases
    for base in filter(is_typeddict, get_original_bases(document)):
        schema["properties"] |= TypeAdapter(base).json_schema()["properties"]
    schema["properties"] = {"format_version": _VERSION, **schema["properties"]}
    schema["required"] = ["format_version", *schema["required"]]
    return _in_one_line(schema)  # type: ignore[no-any-return]


def _describe(kind: Any) -> None:
    """Have pydantic read the docstrings of the keys of a TypedDict, and of those in it."""
    if is_typeddict(kind):
        kind.__pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
        for below in (*kind.__annotations__.values(), *get_original_bases(kind)):
            _describe(below)
    for below in get_args(kind):
        _describe(below)


def _in_one_line(part: Any) -> Any:
    """Return a schema whose descriptions have no line breaks."""
    if isinstance(part, dict):
        return {
            key: " ".join(below.split()) if key == "description" and isinstance(below, str) else _in_one_line(below)
            for key, below in part.items()
        }
    return [_in_one_line(below) for below in part] if isinstance(part, list) else part
