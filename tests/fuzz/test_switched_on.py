"""Each key that the example has switched off is switched on alone: check refuses it, or everything is rendered."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupool.cluster.load import examine
from gpupool.cluster.reference import switched_on
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
_OFF = re.compile(r"^ *#(?=\S)")
# The fewest keys of the example below that check may accept: with fewer, this test would show little.
_LEAST = 80


def variants(text: str) -> Iterator[tuple[str, str]]:
    """Yield each switched-off key with the text in which it is in use, and all that is below it."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if _OFF.match(line):
            depth = len(line) - len(line.lstrip(" "))
            last = first + 1
            while last < len(lines) and len(lines[last]) - len(lines[last].lstrip(" ")) > depth:
                last += 1
            on = switched_on("\n".join(lines[first:last])).split("\n")
            yield line.strip(" #"), "\n".join([*lines[:first], *on, *lines[last:]]) + "\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "example"))


def test_every_key_of_the_example_that_check_accepts_is_rendered(example: Path) -> None:
    rendered = 0
    for file in sorted(EXAMPLE.glob("*.yml")):
        for key, text in variants(file.read_text(encoding="utf-8")):
            (example / file.name).write_text(text, encoding="utf-8")
            if cluster := examine(example).cluster:
                rendered += 1
                assert written(entities(cluster)), key
                assert all(files_for(cluster, node) for node in cluster.nodes.values() if node.managed), key
        shutil.copy(file, example / file.name)
    assert rendered > _LEAST
