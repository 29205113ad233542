"""Nodes folded into one line have the same meaning for Slurm as on separate lines."""

import pytest
from hostlists import each
from hypothesis import given
from hypothesis import strategies as st
from inventories import INVENTORY, cluster_at

from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.fold import node_lines

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,3}(-[a-z0-9]{1,2}){0,2}(\.[a-z]{1,3})?", fullmatch=True)
NUMBERED = st.builds("{}{}".format, st.sampled_from(["a", "b-", "r1n"]), st.from_regex("[0-9]{1,3}", fullmatch=True))
ADDRESSES = st.builds("10.0.{}.{}".format, st.integers(0, 2), st.integers(0, 30))
RESTS = st.sampled_from(["", "CPUs=8", "CPUs=8 Gres=gpu:a40:4", 'CPUs=8 Comment="two words"', "CPUs=8 Port=7000"])
NODES = st.tuples(st.one_of(NAMES, NUMBERED), st.one_of(st.none(), NAMES), st.one_of(st.none(), ADDRESSES), RESTS)


def line(name: str, machine: str | None, address: str | None, rest: str) -> str:
    """Return the line of one node."""
    keys = {"NodeName": name, "NodeHostname": machine, "NodeAddr": address}
    return " ".join([*(f"{key}={value}" for key, value in keys.items() if value), *([rest] if rest else [])])


@given(st.lists(NODES, max_size=12))
def test_folded_lines_mean_the_same_as_separate_lines(nodes: list[tuple[str, str | None, str | None, str]]) -> None:
    plain = [line(*node) for node in nodes]
    folded = [unfolded for line in node_lines(plain) for unfolded in unfold(line)]
    assert folded == plain


def unfold(folded: str) -> list[str]:
    """Return a line for each node of a folded line, with the same words."""
    rows = each(folded.replace("two words", "two_words"))
    return [" ".join(f"{key}={value}" for key, value in row.items()).replace("two_words", "two words") for row in rows]


def test_a_node_that_differs_has_a_separate_line() -> None:
    same = "CPUs=8 State=UNKNOWN"
    lines = [f"NodeName=a{number} NodeAddr=10.0.0.{number} {same}" for number in (1, 2)]
    assert node_lines(lines) == [f"NodeName=a[1-2] NodeAddr=10.0.0.[1-2] {same}"]
    for odd in (
        "NodeName=a3 NodeAddr=10.0.0.3 CPUs=9 State=UNKNOWN",
        f"NodeName=a3 {same}",
        f"NodeName=a3 NodeHostname=b NodeAddr=10.0.0.3 {same}",
        f"NodeName=a3 NodeAddr=10.0.0.3 {same} Weight=1",
    ):
        # and the nodes after it stay in place: Slurm numbers nodes in this order
        after = f"NodeName=a4 NodeAddr=10.0.0.4 {same}"
        assert node_lines([*lines, odd, after]) == [*node_lines(lines), odd, after]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py")))
def test_every_node_of_an_inventory_is_in_its_slurm_conf_in_order(name: str) -> None:
    cluster = cluster_at(INVENTORY / name)
    lines = [line for line in slurm_conf(cluster).splitlines() if line.startswith("NodeName=")]
    rows = [row for line in lines for row in each(line)]
    compute = cluster.having("compute")
    assert [row["NodeName"] for row in rows] == [node.slurm_name for node in compute]
    assert [row.get("NodeAddr") for row in rows] == [node.address for node in compute]
    assert [row.get("NodeHostname", row["NodeName"]) for row in rows] == [node.name for node in compute]
    assert len(lines) < max(3, len(compute) / 2)
