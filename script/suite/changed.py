"""The layers and test files that a change can affect: by imports, and by the files that they read."""

import ast
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from suite.layers import Layer

#: Files that affect every test: its environment.
EVERYTHING = (
    "pyproject.toml",
    "requirements.lock",
    "script/environment",
    "script/test",
    "script/suite/",
    ".ci/",
    "tests/conftest.py",
    "tests/shared/times.py",
)
#: Folders whose files tests read or run without importing them.
CODE = ("gpupool/", "roles/", "deploys/")
DATA = ("inventory/", "templates/")

#: Programs that are sent to nodes unchanged and run there.
_PROGRAMS = ("gpupool/programs/arbiter/", "gpupool/programs/usage/")
_SKYNETS_GUIDE = ("tests/guides/test_skynet.py", "tests/guides/terminal.py")
_DEPLOY = ("gpupool.cli.testbed", "gpupool.cli.apply", "gpupool.cli.plan", "gpupool.cli.verify", "deploys.site")
_UPKEEP = tuple(
    f"gpupool.cli.{command}" for command in ("drift", "log", "maintain", "onboard", "restore", "retire", "upgrade")
)
_LUA = (".luacheckrc", "templates/job_submit/", "inventory/example/")
#: Modules that a layer runs in separate processes, so that its tests need not import them; and the files that it reads.
STARTS: Mapping[str, tuple[str, ...]] = {
    "roles": ("deploys.site",),
    "testbed": (*_DEPLOY, "gpupool.cli.rekey", "gpupool.cli.render", "gpupool.cli.storage"),
    "day2": (*_DEPLOY, *_UPKEEP),
    "driver": ("gpupool.cli.testbed",),
    "guides": _DEPLOY,
    "deploy": (*_DEPLOY, "gpupool.cli.init"),
    "molecule": _DEPLOY,
    "vm": _DEPLOY,
}
READS: Mapping[str, tuple[str, ...]] = {
    "lint": ("gpupool/", "roles/", "deploys/", "tests/", "molecule/", "script/", ".shellcheckrc", *_LUA),
    "unit": (
        "README.md",
        "CONTRIBUTING.md",
        "docs/",
        "man/",
        "script/",
        "tests/promises",
        "tests/unit/",
        "molecule/",
        *DATA,
    ),
    "operations": ("tests/operations/", "tests/facts/", "tests/engine/", "docs/accounting.md", *DATA),
    "roles": ("tests/roles/", *DATA),
    "fuzz": ("tests/fuzz/", "script/fuzz", *DATA),
    "wheel": ("tests/wheel/", "man/", "README.md", "LICENSE", "CHANGELOG.md", *CODE, *DATA),
    "rehearsal": ("tests/rehearsal/", "inventory/example/", "templates/", "gpupool/programs/arbiter/"),
    "faults": ("tests/rehearsal/", "inventory/example/", "templates/", "gpupool/programs/arbiter/"),
    "fullsize": ("tests/rehearsal/test_skynet.py", "inventory/skynet/", "templates/", "gpupool/programs/arbiter/"),
    "testbed": ("tests/testbed/", *_SKYNETS_GUIDE, "inventory/skynet/", "templates/", *_PROGRAMS),
    "day2": ("tests/day2/", "tests/unit/small/", "templates/", "gpupool/programs/"),
    "driver": ("tests/driver/", "tests/unit/small/", "templates/"),
    "guides": ("tests/guides/", *DATA, *_PROGRAMS),
    "deploy": ("tests/deploy/", "inventory/example/", "templates/", *_PROGRAMS),
    "molecule": ("molecule/", "tests/molecule/", "templates/", *_PROGRAMS),
    "vm": ("tests/vm/", "templates/", *_PROGRAMS),
}


def only(layers: Sequence[Layer], since: str) -> tuple[list[Layer], str]:
    """Return the part of these layers that a change since a commit can affect, and one line about it."""
    files = _files(since)
    selected = touched(layers, files)
    names = [
        f"{layer.name} ({_count(layer)})" if layer.tests and len(_chosen(layer)) > 1 else layer.name
        for layer in selected
    ]
    count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
    return selected, f"changed since {since}: {count}. Runs: {' '.join(names) or 'nothing'}"


def touched(layers: Sequence[Layer], files: Iterable[str]) -> list[Layer]:
    """Return the part of these layers that these files can affect; a layer with selectable tests has only those."""
    files = [file.replace("gpupool/roles/", "roles/").replace("gpupool/deploys/", "deploys/") for file in files]
    files += [module for file in files if file.endswith(".sh") for module in _senders(file)]
    if any(file.startswith(EVERYTHING) for file in files):
        return list(layers)
    selected = []
    for layer in layers:
        tests = _tests(*layer.tests)
        own = [file for file in files if file.startswith(READS[layer.name])]
        starts = _started(layer)
        if not layer.tests:
            if own or starts & set(files):
                selected.append(layer)
            continue
        chosen = [test for test in tests if _reached(test) & set(files)]
        data = [file for file in own if file not in tests and not file.endswith(".py")]
        if data or starts & set(files) or len(chosen) == len(tests):
            selected.append(layer)
        elif chosen:
            command = [word for word in layer.commands[0] if word not in layer.tests]
            selected.append(replace(layer, commands=((*command, *chosen),)))
    return selected


def _senders(script: str) -> list[str]:
    """Return the modules beside a shell script that name it."""
    beside = Path(script).parent.glob("*.py")
    return [str(path) for path in beside if f'"{Path(script).name}"' in path.read_text(encoding="utf-8")]


def _chosen(layer: Layer) -> list[str]:
    return [word for word in layer.commands[0] if word.endswith(".py")]


def _count(layer: Layer) -> str:
    every = len(_tests(*layer.tests))
    return f"{len(_chosen(layer)) or every} of {every} files"


@cache
def _started(layer: Layer) -> frozenset[str]:
    """Return all files that the processes of a layer import, except by tests that can be selected."""
    modules = [_file(name) for name in STARTS.get(layer.name, ())]
    folder = "rehearsal" if layer.name in ("faults", "fullsize") else layer.name
    tests = () if layer.tests else _tests(f"tests/{folder}")
    return frozenset(path for file in (*modules, *tests) for path in _reached(file))


@cache
def _tests(*folders: str) -> tuple[str, ...]:
    return tuple(sorted(str(path) for folder in folders for path in Path(folder).rglob("test_*.py")))


def _files(since: str) -> list[str]:
    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    (base,) = git("merge-base", "HEAD", since)
    return sorted({*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")})


@cache
def _reached(file: str) -> frozenset[str]:
    """Return a file and everything of this repository that it imports, directly or indirectly."""
    reached, left = set(), [file]
    while left:
        path = left.pop()
        if path not in reached and path:
            reached.add(path)
            left += _imports(path)
    return frozenset(reached)


@cache
def _imports(file: str) -> tuple[str, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    # importing a module also runs its packages
    names |= {".".join(name.split(".")[:end]) for name in list(names) for end in range(1, name.count(".") + 1)}
    above = [str(folder / "conftest.py") for folder in Path(file).parents if folder.is_relative_to("tests")]
    return tuple(path for path in (*map(_file, sorted(names)), *above) if path and Path(path).is_file())


def _file(module: str) -> str:
    """Return the file of a module of this repository, "" for others; roles and deploys are in the top folder."""
    path = module.replace(".", "/").replace("gpupool/roles", "roles").replace("gpupool/deploys", "deploys")
    for place in ("", "tests/shared/"):
        for name in (f"{place}{path}.py", f"{place}{path}/__init__.py"):
            if Path(name).is_file():
                return name
    return ""
