"""A deploy to run once for each host: a file, as for pyinfra's command line, or a function."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gpupool.engine.explain import reason
from gpupool.errors import GpupoolError


@dataclass(frozen=True)
class Deploy:
    """A deploy that is ready to call; pyinfra orders operations by their call sites in the file `filename`."""

    filename: str
    call: Callable[[], object]


def load(deploy: Path | Callable[[], object]) -> Deploy:
    """Return a deploy that is ready to call; GpupoolError if the file cannot be read or is not Python."""
    if not isinstance(deploy, Path):
        return Deploy(_code_filename(deploy), deploy)
    filename = str(deploy.resolve())
    try:
        code = compile(deploy.read_text(encoding="utf-8"), filename, "exec")
    except OSError as error:
        raise GpupoolError(f"cannot read the deploy {deploy}: {error.strerror}") from error
    except SyntaxError as error:
        raise GpupoolError(f"cannot run the deploy {deploy}: {reason(error)}") from error
    # Like pyinfra's command line: fresh globals for each host, and __name__ is not "__main__".
    return Deploy(filename, lambda: exec(code, {"__file__": filename}))


def _code_filename(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None:
        raise GpupoolError(f"{function!r} is not a Python function that can be run as a deploy")
    return str(code.co_filename)
