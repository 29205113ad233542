"""The nodes of an onboarding, by the words on a command line."""

import pytest

from gpupool.errors import UsageError
from gpupool.joining.request import gpus_of, nodes_of, replaced_of


@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        (["a", "10.0.0.1"], {"a": "10.0.0.1"}),
        (["a=10.0.0.1", "b=10.0.0.2"], {"a": "10.0.0.1", "b": "10.0.0.2"}),
        (["n[09-10]=10.0.0.[9-10]"], {"n09": "10.0.0.9", "n10": "10.0.0.10"}),
        (["n[1-2]", "10.0.0.[1-2]"], {"n1": "10.0.0.1", "n2": "10.0.0.2"}),
    ],
)
def test_names_and_addresses_are_paired(arguments: list[str], nodes: dict[str, str]) -> None:
    assert nodes_of(arguments) == nodes


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a"], "write NAME ADDRESS"),
        (["a", "host"], "'host' is not an IPv4 address"),
        (["n[1-3]=10.0.0.[1-2]"], "2 addresses for 3 nodes"),
        (["a=10.0.0.1", "b=10.0.0.1"], "10.0.0.1 is given twice"),
        (["a=10.0.0.1", "a=10.0.0.2"], "a is given twice"),
    ],
)
def test_contradicting_arguments_are_refused(arguments: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why.replace("[", r"\[")):
        nodes_of(arguments)


def test_a_replaced_node_keeps_its_address_by_default() -> None:
    known = {"a": "10.0.0.1", "b": "10.0.0.2", "c": None}
    assert replaced_of(["a", "b"], known) == {"a": "10.0.0.1", "b": "10.0.0.2"}
    assert replaced_of(["a", "10.0.0.9"], known) == replaced_of(["a=10.0.0.9"], known) == {"a": "10.0.0.9"}
    for words, why in ((["d"], "d: not in the inventory"), (["c"], "c: without an address")):
        with pytest.raises(UsageError, match=why):
            replaced_of(words, known)


def test_gpus_are_given_by_type_and_count() -> None:
    assert gpus_of("a40:4,rtx:2") == {"a40": 4, "rtx": 2}
    assert (gpus_of(None), gpus_of("none")) == (None, {})
    with pytest.raises(UsageError, match="write TYPE:COUNT"):
        gpus_of("4")
