"""Host lists: a folded list is read back, by Slurm's rules and by ClusterShell's."""

import random

import pytest
from ClusterShell.NodeSet import NodeSet
from hostlists import as_slurm_reads
from hypothesis import given
from hypothesis import strategies as st

from gpupool.slurm.hostlists import MOST, expand, expanded, fold, fold_set

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3}){0,2}(\.[a-z]{1,3})?", fullmatch=True)
NUMBERED = st.builds("{}{}".format, st.sampled_from(["a", "b-", "r1n"]), st.from_regex("[0-9]{1,3}", fullmatch=True))
RUNS = st.builds(
    lambda first, count, width: [f"n{number:0{width}}" for number in range(first, first + count)],
    st.integers(0, 1200),
    st.integers(1, 30),
    st.integers(1, 4),
)
LISTS = st.one_of(RUNS, st.lists(st.one_of(NAMES, NUMBERED), min_size=1, max_size=12))
ANYTHING = st.text(alphabet=st.sampled_from("abn12-[],. x"), max_size=25)


def written(chance: random.Random) -> str:
    """Return a host list of a few words with up to three groups of numbers each, some with leading zeros."""
    words = []
    for _ in range(chance.randint(1, 3)):
        word = chance.choice("abc")
        for text in chance.sample(["-", "n", "x-"], chance.randint(0, 3)):
            width = chance.randint(1, 3)
            ranges = [sorted(chance.sample(range(1, 10**width), 2)) for _ in range(chance.randint(1, 2))]
            numbers = [f"{low:0{width}}-{min(high, low + 4):0{width}}" for low, high in ranges]
            word += f"{text}[{','.join(numbers)}]"
        words.append(word + chance.choice(["", "", "-ib"]))
    return ",".join(words)


@given(st.randoms(use_true_random=False).map(written))
def test_clustershell_reads_the_same_names(text: str) -> None:
    names = expand(text)
    assert set(names) == set(NodeSet(text))
    assert set(NodeSet(fold(names))) == set(NodeSet(fold_set(names))) == set(names)
    assert set(expand(str(NodeSet.fromlist(names)))) == set(names)


@given(LISTS)
def test_a_host_list_is_read_in_its_written_order(names: list[str]) -> None:
    assert expand(fold(names)) == names
    assert as_slurm_reads(fold(names)) == names


@given(LISTS)
def test_a_set_has_each_name_once_in_any_order(names: list[str]) -> None:
    assert sorted(expand(fold_set(names))) == sorted(set(names))
    assert set(as_slurm_reads(fold_set([*names, *names]))) == set(names)


@given(ANYTHING)
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        names = expand(text)
    except ValueError:
        assert expanded(text) == [text]
    else:
        assert expanded(text) == names
        assert not {"[", "]", ","} & set("".join(names))


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ("a1 a2 a3", "a[1-3]"),
        ("a9 a10 a11", "a[9-11]"),
        (" ".join(f"a{number}" for number in range(11)), "a[0-10]"),
        ("a00 a01 a100", "a[00-01,100]"),
        ("a08 a09 a10", "a[08-10]"),
        ("a98 a99 a100", "a[98-100]"),
        ("a098 a099 a100 a1000", "a[098-100,1000]"),
        ("a0999 a1000", "a[0999-1000]"),
        ("a099 a100 a999 a1000", "a[099-100,999-1000]"),
        ("a3 a1 a2", "a[3,1-2]"),
        ("a1 a01", "a[1,01]"),
        ("b a1 c a2", "b,a1,c,a2"),
        ("r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"),
        ("10.0.0.9 10.0.0.10 10.0.1.1", "10.0.0.[9-10],10.0.1.1"),
        ("x-1.example.org x-2.example.org", "x-1.example.org,x-2.example.org"),
        ("/dev/nvidia0 /dev/nvidia1", "/dev/nvidia[0-1]"),
        ("17001 17002", "[17001-17002]"),
        ("a1234567890123 a1234567890124", "a1234[567890123-567890124]"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_names_are_folded(names: str, folded: str) -> None:
    assert fold(names.split()) == folded
    assert expand(folded) == names.split()


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ("vicki a40-2 clippy a40-1 a40-2", "a40-[1-2],vicki,clippy"),
        ("rtx2080ti-1 rtx6000-2 rtx6000-10 rtx6000-3", "rtx6000-[2-3,10],rtx2080ti-1"),
        ("r10n1 r2n1", "r2n1,r10n1"),
    ],
)
def test_a_set_is_sorted_by_text_and_number_with_names_without_a_number_last(names: str, folded: str) -> None:
    assert fold_set(names.split()) == folded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("ALL", ["ALL"]),
        ("n[08-10,12]-ib", ["n08-ib", "n09-ib", "n10-ib", "n12-ib"]),
        ("r[1-2]n[1-2],x", ["r1n1", "r1n2", "r2n1", "r2n2", "x"]),
        ("a1[1-12]", [f"a1{number}" for number in range(1, 13)]),
    ],
)
def test_a_host_list_is_expanded(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text", ["a[1-", "a]", "a,,b", ",a", "a,", "a[]", "a[1,]", "a[x]", "a[3-1]", "a[[1]]", "a[1-2-3]", "a[٣]"]
)
def test_other_text_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match="host list"):
        expand(text)


@pytest.mark.parametrize("text", ["a[1-100001]", "a[1-999]b[1-999]", "a[1-60000],b[1-60000]", f"a[1-{10**18 - 1}]"])
def test_more_names_than_a_cluster_has_nodes_are_refused_before_expansion(text: str) -> None:
    with pytest.raises(ValueError, match=f"the maximum is {MOST}"):
        expand(text)
