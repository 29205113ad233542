"""The page about the inventory language is generated from the example, and the example shows the whole language."""

import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from gpupool.cluster.load import examine
from gpupool.cluster.reference import page, switched_on
from gpupool.cluster.schema import Inventory
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "inventory" / "example"


@pytest.fixture
def everything(tmp_path: Path) -> Inventory:
    """The example with every switched-off key in use; it is valid by the schema, though not by every check."""
    for file in EXAMPLE.glob("*.yml"):
        (tmp_path / file.name).write_text(switched_on(file.read_text()))
    text = read(tmp_path)
    assert not text.located
    inventory, complaints = validated(text.data)
    assert not complaints
    assert inventory is not None
    return inventory


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "inventory.md").read_text() == page(EXAMPLE), "run script/docs"


def test_the_example_has_no_complaints() -> None:
    assert [str(complaint) for complaint in examine(EXAMPLE).open] == []


def test_the_example_shows_every_key(everything: Inventory) -> None:
    language = {
        f"{model.__name__}.{key}"
        for model in _models(Inventory)
        for key, field in model.model_fields.items()
        # an example would teach a former name
        if not (isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("deprecated"))
    }
    missing = language - {
        f"{type(entry).__name__}.{key}" for entry in _entries(everything) for key in entry.model_fields_set
    }
    # one example of these two is enough
    assert [key for key in sorted(missing) if not key.endswith((".src", ".inferred"))] == []


def test_prose_and_yaml_are_distinguished(tmp_path: Path) -> None:
    (tmp_path / "nodes.yml").write_text(
        "# Machines\n#\n# Say `what`.\n\nnodes:\n  # the first\n  - {name: a}\n#gpu: {}\n"
    )
    (tmp_path / "cluster.yml").write_text("# First\nschema: 1\n")
    assert page(tmp_path).split("\n\n", 1)[1] == (
        "# First\n\n*cluster.yml*\n\n```yaml\nschema: 1\n```\n\n"
        "## Machines\n\n*nodes.yml*\n\nSay `what`.\n\n```yaml\nnodes:\n  # the first\n  - {name: a}\n#gpu: {}\n```\n"
    )


def test_enabling_keys_does_not_change_prose() -> None:
    assert switched_on("# words\n#gpu:\n  # words\n  #driver: fake\n") == "# words\ngpu:\n  # words\n  driver: fake\n"


def _entries(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        value = tuple(getattr(value, key) for key in value.model_fields_set)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        yield from _entries(item)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation)
    for argument in typing.get_args(annotation):
        yield from _models(argument)
