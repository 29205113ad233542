"""Parameters of an inventory that have Slurm's own names and values."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import one_line, spelt


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value) if isinstance(value, int | float) else value
    if isinstance(value, float) and "e" in str(text):
        raise ValueError(f"YAML changes the notation of {text}; put it in quotes")
    return text


def _one_value(text: str) -> str:
    # Slurm ends a line at #, and reads " and \ as quotes; gpupool quotes a value with blanks
    if odd := next((sign for sign in '#"\\' if sign in text), None):
        raise ValueError(f"{quoted(text)} contains {odd}, which Slurm's files cannot have in a value")
    if text != text.strip():
        raise ValueError(f"{quoted(text)} begins or ends with a blank")
    return one_line(text)


ParameterKey = Annotated[str, spelt(r"^[A-Za-z][A-Za-z0-9_]*$", "a key of Slurm has letters, digits and _")]
ParameterValue = Annotated[
    str,
    Field(strict=True, min_length=1),
    BeforeValidator(_as_text),
    AfterValidator(_one_value),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Parameters = dict[ParameterKey, ParameterValue]
