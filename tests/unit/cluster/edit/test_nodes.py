"""Writing a node into an inventory and removing it again keeps every other byte of the text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inventories import INVENTORY

from gpupool.cluster.edit.nodes import SELECTORS, flow, has, with_key, with_node, without_mentions, without_node
from gpupool.cluster.edit.ranges import without
from gpupool.cluster.edit.tree import tree
from gpupool.cluster.node_table import expand
from gpupool.cluster.schema import Inventory
from gpupool.slurm.hostlists import fold

NEW = {"name": "new-[1-2]", "address": "10.0.9.[1-2]", "roles": ["compute"], "gpus": {"a40": 4}}
TEXTS = {
    str(file.relative_to(INVENTORY)): file.read_bytes().decode()
    for file in sorted(INVENTORY.rglob("*.yml"))
    if has(file.read_bytes().decode(), "nodes")
}

comments = st.lists(st.text("abcä #:-{}[]'\"", max_size=12).map(lambda text: f"# {text}"), max_size=2)
names = st.sampled_from(["a", "b-[1-3]", "c[01-02],d", "é"])
newlines = st.sampled_from(["\n", "\r\n"])


@st.composite
def entries(draw: st.DrawFn, indent: str) -> str:
    """Return an entry of `nodes`, on one line or on several, with comments around it."""
    name = flow(draw(names))
    if draw(st.booleans()):
        lines = [f"{indent}- {{name: {name}, roles: [compute]}}{draw(st.sampled_from(['', '  # why', ' ']))}"]
    else:
        lines = [
            f"{indent}- name: {name}",
            *(f"{indent}  {comment}" for comment in draw(comments)),
            f"{indent}  roles:",
        ]
        lines += [f"{indent}    - compute"] if draw(st.booleans()) else [f"{indent}    [compute]  # one"]
        if draw(st.booleans()):
            lines += [f"{indent}  model: |", f"{indent}    some words", f"{indent}    # no comment"]
    lines += [f"{indent}{draw(st.sampled_from(['', '    ']))}{comment}" for comment in draw(comments)]
    return "\n".join([*lines, *([""] if draw(st.booleans()) else [])])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a file with `nodes` and other keys, in the forms that people use."""
    indent = draw(st.sampled_from(["", "  ", "    "]))
    head = [*draw(comments), "x: {a: 1}", *draw(comments), "nodes:"]
    body = [draw(entries(indent)) for _ in range(draw(st.integers(1, 3)))]
    tail = [*draw(comments), *(["y: [1, 2]"] if draw(st.booleans()) else []), *draw(comments)]
    text = "\n".join([*head, *body, *tail]) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", draw(newlines))


def taken_out(text: str) -> str:
    for name in expand(str(NEW["name"])):
        text = without_node(text, name)
    return text


@given(texts())
@settings(max_examples=300)
def test_a_node_added_and_removed_leaves_any_text_the_same_byte_for_byte(text: str) -> None:
    longer = with_node(text, NEW)
    assert taken_out(longer) == text
    before, after = tree(text), tree(longer)
    assert before
    assert after
    old, new = before.get("nodes"), after.get("nodes")
    assert old
    assert new
    assert len(new.parts) == len(old.parts) + 1
    entry = new.parts[-1].get("name")
    assert entry
    assert entry.word == NEW["name"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_node_added_and_removed_leaves_every_inventory_the_same(name: str) -> None:
    assert taken_out(with_node(TEXTS[name], NEW)) == TEXTS[name]


@pytest.mark.parametrize(
    "row", ["[]", "[{name: a}]", "[{name: a}, {name: b},]", "[\n  {name: a},  # one\n  {name: b}\n]"]
)
def test_entries_may_be_on_one_line(row: str) -> None:
    text = f"nodes: {row}\n"
    if row == "[]":
        with pytest.raises(ValueError, match="not a list with entries"):
            with_node(text, NEW)
        return
    assert taken_out(with_node(text, NEW)) == text


def test_a_range_becomes_shorter_with_its_addresses() -> None:
    text = '  # four\n  - {name: "a[01-04]", address: "10.0.0.[1-4]"}  # of them\n'
    assert without_node(f"nodes:\n{text}", "a02") == "nodes:\n" + text.replace("01-04", "01,03-04").replace(
        "1-4]", "1,3-4]"
    )
    assert without_node('nodes: [{name: "a[1-2]", address: "10.0.0.[1-2]"}]', "a2") == (
        "nodes: [{name: a1, address: 10.0.0.1}]"
    )


def test_selectors_lose_the_name_and_everything_else_is_kept() -> None:
    text = (
        "nodes: [{name: a1}]\ngroups: {g: 'a1,b'}\n"
        'partitions:\n  - {name: a1, nodes: "a[1-3],@compute!b"}  # a1\nx: {server: a1, where: "@compute!a1"}\n'
    )
    assert without_mentions(text, "a1") == text.replace("'a1,b'", "b").replace("a[1-3]", "a[2-3]").replace(
        '"@compute!a1"', '"@compute"'
    )
    with pytest.raises(ValueError, match="would select no node without a1"):
        without_mentions("partitions: [{nodes: a1}]", "a1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("[{nodes: a1, gpus: [2]}, {nodes: b}]", "[{nodes: b}]", id="one of a row"),
        pytest.param("[{nodes: b}, {nodes: a1}]", "[{nodes: b}]", id="the last of a row"),
        pytest.param("[{nodes: a1}]", "[]", id="the only one of a row"),
        pytest.param("[{nodes: a1}, {nodes: a1, gpus: [1]}]", "[]", id="two of the same node"),
        pytest.param("\n  - {nodes: a1}\n  - {nodes: b}\n", "\n  - {nodes: b}\n", id="one of a list"),
        pytest.param(
            "  # broken\n  - nodes: a1\n    gpus: [2]\nslurm: {}\n", " []  # broken\nslurm: {}\n", id="a list"
        ),
        pytest.param("\n- {nodes: a1}", " []", id="without a final line feed"),
        pytest.param("[{nodes: 'a[1-2]'}]", "[{nodes: a2}]", id="a range"),
    ],
)
def test_an_outage_of_a_node_that_leaves_is_removed(before: str, after: str) -> None:
    gap = "" if before[0] in " \n" else " "
    assert without_mentions(f"out_of_service:{gap}{before}", "a1") == f"out_of_service:{gap}{after}"


@pytest.mark.parametrize(
    ("selector", "left"),
    [("a,b", "b"), ("b,a", "b"), ("a[1-3]", "a[1-3]"), ("@compute", "@compute"), ("b!a", "b"), ("a*", "a*")],
)
def test_a_selector_that_would_become_empty_is_refused(selector: str, left: str) -> None:
    assert without(selector, "a") == left


def test_folding_keeps_the_order() -> None:
    for listed in (
        ["a1", "a2"],
        ["a2", "a1"],
        ["a01", "b", "a02"],
        ["10.0.0.9", "10.0.0.10"],
        ["10.0.1.1", "10.0.0.2"],
    ):
        assert expand(fold(listed)) == listed


def test_hardware_is_added_after_the_other_hardware() -> None:
    text = "hardware:\n  a: {cpus: 1}\n  # not yet\n\nnodes: []\n"
    assert with_key(text, "hardware", "b", {"cpus": 2}) == text.replace("1}\n", "1}\n  b: {cpus: 2}\n")


def test_every_key_of_the_language_that_selects_nodes_is_known() -> None:
    def selects(value: dict[str, Any]) -> bool:
        return any("ClusterShell" in str(form.get("description")) for form in (value, *value.get("anyOf", ())))

    schema = Inventory.model_json_schema()
    fields = [field for model in (schema, *schema["$defs"].values()) for field in model.get("properties", {}).items()]
    assert {key for key, value in fields if selects(value)} - {"name"} <= SELECTORS


def test_a_text_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(ValueError, match="not YAML"):
        with_node("nodes: [", NEW)


def test_only_lists_of_nodes_and_selectors_lose_a_name() -> None:
    """Another list may contain a word with the same spelling."""
    text = "access:\n  gateway_forwards_to: [gpu-1, gpu-2]\ntools:\n  packages: [gpu-1, htop]\n"
    assert without_mentions(text, "gpu-1") == text.replace("[gpu-1, gpu-2]", "[gpu-2]")
