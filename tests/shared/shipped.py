"""A program of gpupool in a folder of a test, as apply installs it on a node."""

from pathlib import Path

from gpupool.compile.programs import HOME, program


def ship(name: str, folder: Path) -> None:
    """Write a program, and the shared modules that it imports, to a folder: its PYTHONPATH."""
    for file in program(name):
        path = folder / Path(file.path).relative_to(HOME)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
