"""The programs of `gpupool/programs` as files of a node, with the modules of `gpupool/slurm` that they import."""

import re
from functools import cache
from pathlib import Path

from gpupool.wanted import File

#: The directory of the programs on nodes: their PYTHONPATH.
HOME = "/usr/local/lib/gpupool"
_GPUPOOL = Path(__file__).parents[1]
_SHARED = re.compile(r"^from gpupool\.slurm(?:\.(\w+))? import (.+)$", re.MULTILINE)
# without it, Python would prefer another package called gpupool that is installed on the node
_PACKAGE = File(f"{HOME}/gpupool/__init__.py", '"""The part of gpupool that its programs share."""\n')


@cache
def program(name: str) -> tuple[File, ...]:
    """Return the modules of a program, as they are in this repository, and the shared ones that these import.

    The shared modules have the same path for all programs of a node, so that `from gpupool.slurm import …` works there
    as it does here.
    """
    own = {path.stem: path.read_text() for path in sorted((_GPUPOOL / "programs" / name).glob("*.py"))}
    files = [File(f"{HOME}/{name}/{module}.py", text) for module, text in own.items()]
    shared = sorted(_imported({other for text in own.values() for other in _imports(text)}))
    if shared:
        files += [
            _PACKAGE,
            *(File(f"{HOME}/gpupool/slurm/{module}.py", _text(module)) for module in ("__init__", *shared)),
        ]
    return tuple(files)


def _imported(modules: set[str]) -> set[str]:
    """Return modules of `gpupool/slurm` and all others that they import."""
    more = {other for module in modules for other in _imports(_text(module))}
    return modules if more <= modules else _imported(modules | more)


@cache
def _text(module: str) -> str:
    return (_GPUPOOL / "slurm" / f"{module}.py").read_text()


def _imports(text: str) -> set[str]:
    """Return the names of the modules of `gpupool/slurm` that a module imports."""
    return {name for module, names in _SHARED.findall(text) for name in ([module] if module else names.split(", "))}
