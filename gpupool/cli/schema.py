"""`gpupool schema`: print the inventory language as JSON Schema for editors, or the form of `--json` for programs."""

import json
from typing import Annotated, Any

import typer

from gpupool.errors import UsageError


def command(
    rehearsal: Annotated[
        bool,
        typer.Option("--rehearsal", help="Print the schema of INVENTORY/rehearsal/*.yml, the site's own promises."),
    ] = False,
    labs: Annotated[
        bool,
        typer.Option("--labs", help="Print the schema of INVENTORY/labs/*.yml, the users of one lab each."),
    ] = False,
    printed: Annotated[
        str | None,
        typer.Option("--json", metavar="COMMAND", help="Print the schema of what this command prints with --json."),
    ] = None,
) -> None:
    """Print the JSON Schema of inventories, for the YAML support of editors; `init` writes it, too.

    Changes: nothing.

    Examples:
      gpupool schema > my-site/.schema.json
      gpupool schema --rehearsal
      gpupool schema --labs > my-site/labs/.schema.json
      gpupool schema --json plan
    """
    if rehearsal + labs + (printed is not None) > 1:
        raise UsageError("--rehearsal, --labs and --json cannot be combined: each prints another schema")
    if printed is not None:
        schema = of_output(printed)
    else:
        schema = of_promises() if rehearsal else of_labs() if labs else of_inventories()
    print(json.dumps(schema, indent=2))


def of_output(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's output with `--json`; UsageError if it has no such output."""
    from gpupool.documents.schema import DOCUMENTS, schema_of

    if command not in DOCUMENTS:
        known = ", ".join(f"'{name}'" if " " in name else name for name in DOCUMENTS)
        raise UsageError(f"--json {command}: there is no command {command!r} with --json; there are {known}")
    return schema_of(command)


def of_inventories() -> dict[str, Any]:
    """Return the JSON Schema of each file of an inventory."""
    from gpupool.cluster.schema import Inventory

    schema = Inventory.model_json_schema(by_alias=True)
    # a file contains only some of the inventory's keys, so none is required
    schema.pop("required", None)
    return _draft(schema)


def of_promises() -> dict[str, Any]:
    """Return the JSON Schema of a site's own promise."""
    from gpupool.rehearsal.scenarios.data import Scenario

    return _draft(Scenario.model_json_schema(by_alias=True))


def of_labs() -> dict[str, Any]:
    """Return the JSON Schema of the file with the users of one lab, which has fewer keys than the site's files."""
    from gpupool.cluster.lab_files import KEYS
    from gpupool.cluster.schema.labs import User

    user = User.model_json_schema(by_alias=True)
    definitions = user.pop("$defs", {})
    user["properties"] = {key: field for key, field in user["properties"].items() if key in KEYS}
    user["required"] = [key for key in user["required"] if key in KEYS]
    users = {"type": "array", "items": {"$ref": "#/$defs/User"}, "description": "The users of the lab."}
    return _draft(
        {
            "title": "Lab",
            "description": "The users of one lab: their account is the name of the file.",
            "type": "object",
            "properties": {"users": users},
            "additionalProperties": False,
            "$defs": {**definitions, "User": user},
        }
    )


def _draft(schema: dict[str, Any]) -> dict[str, Any]:
    for model in (schema, *schema["$defs"].values()):
        for field in model.get("properties", {}).values():
            _write_default(field)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _write_default(field: dict[str, Any]) -> None:
    """Replace a default in seconds or MiB, as the models have it, with the text that an inventory would have."""
    from gpupool.cluster.units import OF_DURATION, OF_SIZE, format_duration, format_size

    written = {OF_DURATION["pattern"]: format_duration, OF_SIZE["pattern"]: format_size}.get(field.get("pattern", ""))
    if written is not None and "default" in field:
        field["default"] = written(field["default"])
