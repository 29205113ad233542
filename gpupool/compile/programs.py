"""The programs of `gpupool/programs` as files of a node, with the modules of gpupool that they import."""

import re
from functools import cache
from pathlib import Path

from gpupool.wanted import File

#: The directory of the programs on nodes, and their PYTHONPATH.
HOME = "/usr/local/lib/gpupool"
_GPUPOOL = Path(__file__).parents[1]
_SHARED = re.compile(r"^from gpupool\.(node|slurm)(?:\.(\w+))? import (.+)$", re.MULTILINE)
# Without it, Python would import another package called gpupool that is installed on the node.
_PACKAGE = File(f"{HOME}/gpupool/__init__.py", '"""The part of gpupool that its programs share."""\n')


@cache
def program(name: str) -> tuple[File, ...]:
    """Return the modules of a program as they are in this repository, and the shared modules that they import.

    All programs of a node have the shared modules at the same path, so `from gpupool.slurm import …` works there as
    here.
    """
    own = {path.stem: path.read_text() for path in sorted((_GPUPOOL / "programs" / name).glob("*.py"))}
    files = [File(f"{HOME}/{name}/{module}.py", text) for module, text in own.items()]
    modules = _imported({module for text in own.values() for module in _imports(text)})
    if modules:
        packages = {module.partition("/")[0] for module in modules}
        shared = sorted({*modules, *(f"{package}/__init__" for package in packages)})
        files += [_PACKAGE, *(File(f"{HOME}/gpupool/{module}.py", _text(module)) for module in shared)]
    return tuple(files)


def _imported(modules: set[str]) -> set[str]:
    """Return shared modules and all others that they import, directly or not."""
    more = {other for module in modules for other in _imports(_text(module))}
    return modules if more <= modules else _imported(modules | more)


@cache
def _text(module: str) -> str:
    return (_GPUPOOL / f"{module}.py").read_text()


def _imports(text: str) -> set[str]:
    """Return the shared modules that a module imports, as paths such as slurm/nodes."""
    return {
        f"{package}/{name}"
        for package, module, names in _SHARED.findall(text)
        for name in ([module] if module else names.split(", "))
    }
