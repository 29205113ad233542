"""Whatever name a coordinator gives to an account, the other rows of sacctmgr are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupool.facts.accounting import read
from gpupool.facts.association_rows import associations
from gpupool.facts.script import END
from gpupool.slurm.keys.limits import ASSOC_FIELDS

LIMITS = "1" + "|" * (len(ASSOC_FIELDS) - 1)
FORGED = f"gp|lab|||root|{LIMITS}"


def shown(*entities: tuple[str, str, str]) -> list[tuple[str, str]]:
    """Return the answer for (account, user, parent), with kinds as accounting.sh gives them."""
    text = "\n".join(f"gp|{account}|{user}||{parent}|{LIMITS}" for account, user, parent in entities)
    return [("A" if line.startswith("gp|") else "M", line) for line in text.split("\n")]


@pytest.mark.parametrize("name", ["bad\nname", "evil|x;$(id)", "\n", "|", "nl\n\nend", f"x\n{FORGED}\ny", "x\ngp|y"])
def test_an_account_whose_name_breaks_the_rows_is_found_by_its_name(name: str) -> None:
    found = associations(shown(("root", "", ""), ("lab", "", "root"), (name, "", "lab"), ("other", "", "root")))
    assert [(bad.kind, bad.name, bad.above) for bad in found.bad] == [("account", name, "lab")]
    assert [row[1] for row in found.rows] == ["root", "lab", "other"]
    assert (found.strange, found.forged) == ((), ())


def test_a_user_whose_name_breaks_the_rows_is_found_in_its_account() -> None:
    found = associations(shown(("lab", "", "root"), ("lab", "us\ner", ""), ("lab", "a|b", ""), ("lab", "u-kira1", "")))
    assert [(bad.kind, bad.name, bad.above) for bad in found.bad] == [("user", "us\ner", "lab"), ("user", "a|b", "lab")]
    assert [row[2] for row in found.rows] == ["", "u-kira1"]


@pytest.mark.parametrize("name", ["bad\nname", "evil|x"])
def test_what_is_below_an_account_with_a_bad_name_goes_with_it(name: str) -> None:
    below = [("kid", "", name), ("kid", "u-kira1", ""), (name, "u-kira1", "")]
    found = associations(shown(("lab", "", "root"), (name, "", "lab"), *below, ("other", "", "root")))
    assert [bad.name for bad in found.bad] == [name]
    assert found.strange == ()
    assert [row[1] for row in found.rows if not row[2]] == ["lab", "other"]


def test_a_row_that_a_name_forges_is_reported() -> None:
    name = f"ghost|||root|{LIMITS}\ngp|lab"
    assert associations(shown(("lab", "", "root"), (name, "", "lab"))).forged == ("lab",)


def test_an_error_of_sacctmgr_is_no_name() -> None:
    rows = [*shown(("lab", "", "root")), ("M", "sacctmgr: error: slurmdbd: Connection refused")]
    found = associations(rows)
    assert (found.bad, len(found.strange)) == ((), 1)


@given(st.lists(st.text("\n|agp \r\x85", min_size=1, max_size=30), max_size=4))
def test_no_name_makes_a_valid_account_one_to_remove(names: list[str]) -> None:
    valid = [("root", "", ""), ("lab", "", "root"), ("gp", "", "root")]
    found = associations(shown(valid[0], valid[1], *((name, "", "lab") for name in names), valid[2]))
    assert not {bad.name for bad in found.bad} & {"root", "lab", "gp"}


def test_other_rows_with_a_bad_name_are_left_out() -> None:
    answer = [
        "C|gp", *(f"{kind}|{line}" for kind, line in shown(("lab", "", "root"), ("e|x", "", "lab"))),
        "U|root|root|Administrator", "U|us", "U|er|lab|None", "K|lab|", "K|e|x|", "R|", "J|e|x|u-kira1|normal", END,
    ]  # fmt: skip
    state = read("\n".join(answer))
    assert state
    assert state.trouble is None
    assert list(state.entities["accounts"]) == ["lab"]
    assert state.entities["jobs"] == []
