"""Keys that the example has switched off are switched on: check refuses them, or everything is rendered."""

import random
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import full
import pytest

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.reference import switched_on
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
_OFF = re.compile(r"^ *#(?=\S)")
# The fewest keys of the example below that check may accept: with fewer, this test would show little.
_LEAST = 80
SEED = 11
FEW, MANY = 40, 500  # random sets of keys
# The share of these sets that check must accept at least.
_SHARE = 0.5


@dataclass(frozen=True, order=True)
class Block:
    """Lines of a file: a switched-off key and all that is below it; `last` is the line after them."""

    file: str
    first: int
    last: int
    key: str


def blocks(name: str) -> list[Block]:
    """Return each switched-off key of a file of the example."""
    lines, found = (EXAMPLE / name).read_text(encoding="utf-8").splitlines(), []
    for first, line in enumerate(lines):
        if _OFF.match(line):
            depth = len(line) - len(line.lstrip(" "))
            last = first + 1
            while last < len(lines) and len(lines[last]) - len(lines[last].lstrip(" ")) > depth:
                last += 1
            found.append(Block(name, first, last, line.strip(" #")))
    return found


class Example:
    """A copy of the example in which keys are switched on."""

    def __init__(self, folder: Path) -> None:
        """Copy it to a new folder."""
        self.folder = Path(shutil.copytree(EXAMPLE, folder))

    def cluster(self, on: Iterable[Block]) -> Cluster | None:
        """Return the cluster with these keys, and all that is below them, in use; None if check has complaints."""
        files: dict[str, list[Block]] = {}
        for block in sorted(on):
            files.setdefault(block.file, []).append(block)
        for name, some in files.items():
            lines = (EXAMPLE / name).read_text(encoding="utf-8").splitlines()
            for block in reversed(some):
                lines[block.first : block.last] = switched_on("\n".join(lines[block.first : block.last])).split("\n")
            (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        found = examine(self.folder).cluster
        for name in files:
            shutil.copy(EXAMPLE / name, self.folder / name)
        return found


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return Example(tmp_path_factory.mktemp("switched") / "example")


@pytest.fixture(scope="module")
def alone(example: Example) -> dict[Block, Cluster | None]:
    """Each switched-off key, with the cluster in which it alone is switched on, if check accepts it."""
    files = sorted(EXAMPLE.glob("*.yml"))
    return {block: example.cluster([block]) for file in files for block in blocks(file.name)}


def render(cluster: Cluster, keys: str) -> None:
    """Render everything, as apply would; a node may only lack files if its base is not managed."""
    assert written(entities(cluster)), keys
    files = {name: files_for(cluster, node) for name, node in cluster.nodes.items() if node.managed}
    assert [name for name in files if not files[name] and cluster.nodes[name].manages("base")] == [], keys


def test_every_key_of_the_example_that_check_accepts_is_rendered(alone: dict[Block, Cluster | None]) -> None:
    accepted = {block: cluster for block, cluster in alone.items() if cluster}
    for block, cluster in accepted.items():
        render(cluster, block.key)
    assert len(accepted) > _LEAST


@pytest.mark.parametrize("many", [FEW, pytest.param(MANY, marks=full.only)])
def test_sets_of_keys_that_check_accepts_are_rendered(
    many: int, example: Example, alone: dict[Block, Cluster | None]
) -> None:
    """A set has keys that check accepts alone, few or nearly all of them, and every third has another key as well."""
    good, bad = ([block for block, cluster in alone.items() if bool(cluster) is wanted] for wanted in (True, False))
    rendered = 0
    for number in range(many):
        pick = random.Random(f"{SEED}-{number}")
        share = pick.random()
        some = [block for block in good if pick.random() < share]
        if pick.random() < 1 / 3:
            some.append(pick.choice(bad))
        if cluster := example.cluster(some):
            rendered += 1
            render(cluster, f"{number}: {[block.key for block in some]}")
    assert rendered > many * _SHARE
