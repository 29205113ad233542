"""Node names: expanded, selected, folded again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ClusterShell.NodeSet import NodeSet
from hypothesis import given, settings
from hypothesis import strategies as st
from inventories import SMALL, changed, cluster_at

from gpupool.cluster.node_table import ExpandedNode, NodeTable, expand
from gpupool.cluster.schema.machines import NodeEntry
from gpupool.compile.slurm.conf import slurm_conf

ANYTHING = st.text(alphabet=st.sampled_from("abgpu12-[],@!&^:*?% ."), max_size=25)


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([1, 2, 3]))
def test_a_range_survives_expand_and_fold(first: int, count: int, width: int) -> None:
    names = [f"n-{number:0{width}}" for number in range(first, first + count + 1)]
    assert expand(str(NodeSet.fromlist(names))) == names or len({len(name) for name in names}) > 1


def test_a_range_keeps_its_leading_zeros() -> None:
    assert expand("a40-[08-11]") == ["a40-08", "a40-09", "a40-10", "a40-11"]
    assert expand("clippy") == ["clippy"]
    assert expand("10.66.1.[9-10]") == ["10.66.1.9", "10.66.1.10"]
    assert expand("r[1-2]n[1-2],x") == ["r1n1", "r1n2", "r2n1", "r2n2", "x"]


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("n[1-50,60-110,120-170]", 152),
        ("a[1-82],b[1-48],c[1-48],d[1-32]", 210),
        ("a[1-20000],b[1-20000],c[1-20000]", 60000),
        ("r[1-20,31-40]n[1-3]", 90),
    ],
)
def test_ranges_separated_by_commas_are_joined(text: str, many: int) -> None:
    assert len(expand(text)) == many


def test_a_range_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(ValueError, match="is a range of 200100 nodes; the maximum is 100000"):
        expand("a[1-1000]b[1-200],c[1-100]")


def refusal(attempt: Callable[[], object]) -> str | None:
    """Return the message of a ValueError, or None without one; any other error is raised."""
    try:
        attempt()
    except ValueError as error:
        return str(error)
    return None


@settings(max_examples=300)
@given(ANYTHING)
def test_a_range_is_expanded_or_refused_with_its_text(text: str) -> None:
    words = refusal(lambda: expand(text))
    assert words is None or repr(text) in words


CLUSTER = cluster_at(SMALL)


@settings(max_examples=300)
@given(ANYTHING)
def test_a_selector_is_resolved_or_refused_with_its_text(text: str) -> None:
    words = refusal(lambda: CLUSTER.select(text))
    assert words is None or repr(text) in words


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("@compute", "gpu-1 gpu-2"),
        ("@role:compute", "gpu-1 gpu-2"),
        ("@gpu:a40", "gpu-1 gpu-2"),
        ("@hardware:box", "gpu-1 gpu-2"),
        ("@hardware:box!gpu-1", "gpu-2"),
        ("@head,gpu-[1-2]", "ctl gpu-1 gpu-2"),
        ("@compute&gpu-2", "gpu-2"),
        ("@*", "ctl gpu-1 gpu-2"),
        ("gpu-*", "gpu-1 gpu-2"),
        ("@web", ""),
        ("ctl", "ctl"),
    ],
)
def test_selectors(selector: str, names: str) -> None:
    assert CLUSTER.select(selector) == set(names.split())
    assert CLUSTER.select(selector) is CLUSTER.select(selector)


@pytest.mark.parametrize("selector", ["@compute!gpu-1,gpu-2", "@compute!gpu-[1,2],ctl", "ctl,@compute!gpu-1,"])
def test_a_comma_after_an_excluded_node_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="the comma after ! adds"):
        CLUSTER.select(selector)


def test_each_excluded_node_has_its_own_mark() -> None:
    assert CLUSTER.select("@*!gpu-1!ctl") == {"gpu-2"}
    assert CLUSTER.select("@*!gpu-[1,2]") == {"ctl"}


def test_selected_nodes_have_the_order_of_the_inventory() -> None:
    entries = [NodeEntry(name=name, roles=("compute",)) for name in ("z", "b10", "b9", "a")]
    node_table = NodeTable([ExpandedNode(entry.name, None, entry, ("nodes", i)) for i, entry in enumerate(entries)])
    assert node_table.select("@compute") == ("z", "b10", "b9", "a")
    assert node_table.select("a,b[9-10],z") == ("z", "b10", "b9", "a")


def test_a_group_and_a_feature_are_the_nodes_that_have_the_name(tmp_path: Path) -> None:
    groups = "groups: {pair: gpu-1, quiet: '@feature:quiet'}\naccounts:\n"
    cluster = changed(SMALL, tmp_path, ("accounts:\n", groups), ("gpus: {a40: 8}", "gpus: {a40: 8}, features: [quiet]"))
    assert cluster.select("@group:pair") == {"gpu-1"}
    assert cluster.select("@feature:quiet") == cluster.select("@group:quiet") == {"gpu-1", "gpu-2"}
    assert cluster.select("@feature:quiet!@group:pair") == {"gpu-2"}


def test_a_feature_may_have_a_colon_as_in_slurm(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, ("gpus: {a40: 8}", 'gpus: {a40: 8}, features: ["cpu:epyc:7763", "cpu:old"]'))
    assert " Feature=a40,cpu:epyc:7763,cpu:old" in slurm_conf(cluster)
    assert cluster.select("@feature:cpu:epyc:7763") == {"gpu-1", "gpu-2"}
    assert cluster.select("@feature:cpu:epyc:7763&@feature:cpu:old!gpu-1") == {"gpu-2"}


def test_addresses_belong_to_the_names_in_written_order(tmp_path: Path) -> None:
    pairs = ('gpu-[1-2]", address: "10.90.2.[1-2]"', 'gpu-[2,1],big-1", address: "10.90.2.[1-2],10.90.0.9"')
    nodes = changed(SMALL, tmp_path, pairs, ("contributed_gpus: 6", "contributed_gpus: 14")).nodes
    assert {name: node.address for name, node in nodes.items() if name != "ctl"} == {
        "gpu-2": "10.90.2.1",
        "gpu-1": "10.90.2.2",
        "big-1": "10.90.0.9",
    }


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True))
def test_numbers_of_a_range_keep_their_written_order(numbers: list[int]) -> None:
    assert expand(f"a[{','.join(map(str, numbers))}]-x") == [f"a{number}-x" for number in numbers]
