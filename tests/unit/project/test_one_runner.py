"""Only DeployRunner runs deploys, and the command line is the top layer: it parses, asks and prints."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sources

ROOT = Path(__file__).parents[3] / "gpupool"
ENGINE = "gpupool.engine.drive"
#: Parts of the engine that the command line may import: data, and the display of progress.
SEEN = {"gpupool.engine.report", "gpupool.engine.progress"}


def imports(code: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each imported module, with the name imported from it."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def python(folder: str = "") -> Iterator[tuple[str, ast.Module]]:
    for file in sorted((ROOT / folder).rglob("*.py")):
        yield str(file.relative_to(ROOT)), sources.tree(file)


def test_one_function_runs_a_deploy() -> None:
    anywhere = {
        file
        for file, tree in python()
        for module, name in imports(tree)
        if module == ENGINE or (module, name) == ("gpupool.engine", "drive")
    }
    running = [
        (file, function.name)
        for file, tree in python()
        for function in ast.walk(tree)
        if file in anywhere and isinstance(function, ast.FunctionDef) and (ENGINE, "run") in imports(function)
    ]
    assert running == [("run/runner.py", "_run")]
    assert anywhere == {"run/runner.py"}


def test_the_command_line_imports_only_reports_and_progress_of_the_engine() -> None:
    for file, tree in python("cli"):
        taken = {module for module, _ in imports(tree) if module.startswith("gpupool.engine")}
        assert taken <= SEEN, file


def test_only_the_command_line_imports_the_command_line() -> None:
    above = {"cli", "__main__.py"}
    for file, tree in python():
        if file.split("/")[0] not in above:
            assert not [module for module, _ in imports(tree) if module.startswith("gpupool.cli")], file
