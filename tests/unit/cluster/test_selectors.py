"""Each selector of the schema is found by its type, so that a new field is checked without extra code."""

from typing import Annotated

from inventories import INVENTORY
from pydantic import Field

from gpupool.cluster.checks.selectors import selectors
from gpupool.cluster.load import examine
from gpupool.cluster.schema.base import Entry, Name, NodeNames, Nodes, Several


class Deepest(Entry):
    where: Nodes = "@compute"
    name: NodeNames = "n[1-2]"
    count: Several = 1


class MadeUp(Entry):
    where: Nodes
    described: Nodes | None = Field(None, description="Nodes.")
    text: Name = "@not-a-selector"
    missing: Nodes | None = None
    either: Nodes | Annotated[dict[Name, Several], Field(min_length=1)]
    other: Nodes | Annotated[dict[Name, Several], Field(min_length=1)] | None = None
    groups: dict[Name, Nodes] = Field(default_factory=dict)
    several: tuple[Nodes, ...] = ()
    one: Deepest | None = None
    listed: tuple[Deepest, ...] = ()
    named: dict[Name, Deepest] = Field(default_factory=dict)


def test_every_form_of_a_field_is_found_with_its_path() -> None:
    entry = MadeUp(
        where="a", described="b", either="c", other={"x": 1}, groups={"g": "d"}, several=("e", "f"),
        one=Deepest(where="h"), listed=(Deepest(), Deepest(where="i")), named={"k": Deepest(where="l")},
    )  # fmt: skip
    assert dict(selectors(entry)) == {
        ("where",): "a",
        ("described",): "b",
        ("either",): "c",
        ("groups", "g"): "d",
        ("several", 0): "e",
        ("several", 1): "f",
        ("one", "where"): "h",
        ("listed", 0, "where"): "@compute",
        ("listed", 1, "where"): "i",
        ("named", "k", "where"): "l",
    }


def test_the_selectors_of_an_inventory_are_found_and_the_names_of_its_nodes_are_not() -> None:
    site = examine(INVENTORY / "example").site
    assert site
    paths = [path for path, _ in selectors(site.inventory)]
    assert {("partitions", 0, "nodes"), ("storage", "mount_on")} <= {*paths}
    assert not [path for path in paths if path[0] == "nodes"]
