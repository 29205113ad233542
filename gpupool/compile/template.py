"""Fill templates, which are in `templates/`: each has the name of the file that it becomes."""

from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from gpupool.cache import safe_folder

TEMPLATES = Path(__file__).parents[1] / "templates"
#: The files are configuration and programs, not HTML: nothing is escaped.
_SYNTAX: dict[str, Any] = {
    "autoescape": False,
    "keep_trailing_newline": True,
    "trim_blocks": True,
    "lstrip_blocks": True,
}


def fill(name: str, **values: object) -> str:
    """Return the text of a template with these values; a missing value raises jinja2's UndefinedError."""
    try:
        return _filled(name, **values)
    except TypeError:  # a value without a hash, such as a mapping
        return _render(name, **values)


# Most files of a role are the same on all nodes.
@lru_cache(maxsize=1024, typed=True)
def _filled(name: str, **values: object) -> str:
    return _render(name, **values)


def _render(name: str, **values: object) -> str:
    return _environment().get_template(f"{name}.j2").render(**values)


@cache
def _environment() -> Environment:
    folder = safe_folder("templates")
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        auto_reload=False,
        bytecode_cache=_Compiled(str(folder)) if folder else None,
        **_SYNTAX,
    )


class _Compiled(FileSystemBytecodeCache):
    """Templates as Python's bytecode, so that a command does not compile them again."""

    def get_source_checksum(self, source: str) -> str:
        """Return the checksum of a template and of the options that its bytecode depends on."""
        return super().get_source_checksum(f"{_SYNTAX}{source}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the bytecode of a template; if that fails, only the next command takes longer."""
        with suppress(OSError):
            super().dump_bytecode(bucket)
