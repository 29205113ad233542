"""Values of Slurm's accounting: a written value is read back unchanged."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.facts.accounting import together
from gpupool.slurm.keys.limits import _KINDS, ASSOC_FIELDS, QOS_FIELDS, Value, parse, write

NUMBERS = some.integers(min_value=0, max_value=2**31)
NAMES = some.lists(some.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True), unique=True, max_size=4).map(sorted)
TRES = some.dictionaries(
    some.sampled_from(["cpu", "mem", "node", "billing", "gres/gpu", "gres/gpu:a40", "license/x"]), NUMBERS, max_size=4
)
STRATEGIES: dict[str, some.SearchStrategy[Any]] = {
    "tres": TRES, "names": NAMES, "count": NUMBERS, "minutes": NUMBERS, "seconds": NUMBERS,
    "ratio": some.floats(min_value=0, max_value=1e6).map(lambda ratio: round(ratio, 4)),
    "share": NUMBERS | some.just("parent"), "word": some.from_regex(r"[a-z]{1,8}", fullmatch=True),
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(_KINDS))
@given(data=some.data())
def test_a_written_value_is_read_back(field: str, data: some.DataObject) -> None:
    value = data.draw(STRATEGIES[_KINDS[field]])
    assert parse(field, write(field, value)) == value
    assert parse(field, value) == value


@pytest.mark.parametrize("field", sorted(_KINDS))
def test_no_limit_is_written_in_a_form_that_is_read_back(field: str) -> None:
    nothing = parse(field, "")
    assert parse(field, write(field, nothing)) == nothing
    assert parse(field, None) == nothing


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("MaxWall", "2-00:00:00", 2880),
        ("MaxWall", "48:00:00", 2880),
        ("MaxWall", "2880", 2880),
        ("MaxWall", "7-0", 10080),
        ("MaxWall", "01:30:00", 90),
        ("GraceTime", "00:00:20", 20),
        ("GraceTime", 20, 20),
        ("MaxTRESPU", "cpu=3,gres/gpu=5", {"cpu": 3, "gres/gpu": 5}),
        ("GrpTRES", "mem=1T", {"mem": 1048576}),
        ("GrpTRES", {"mem": "64G"}, {"mem": 65536}),
        ("Flags", "OverPartQOS,DenyOnLimit", ["DenyOnLimit", "OverPartQOS"]),
        ("UsageFactor", "0.250000", 0.25),
        ("PreemptMode", "REQUEUE", "requeue"),
        ("Fairshare", "parent", "parent"),
    ],
)
def test_slurms_notations_are_read(field: str, text: object, value: Value) -> None:
    assert parse(field, text) == value


@pytest.mark.parametrize(
    ("field", "text"), [("MaxWall", "soon"), ("Priority", "high"), ("GrpTRES", "gpu"), ("MaxWall", "1:30")]
)
def test_a_value_that_slurm_cannot_have_is_an_error(field: str, text: str) -> None:
    with pytest.raises(ValueError, match=field):
        parse(field, text)


def test_a_removed_tres_is_named() -> None:
    assert write("GrpTRES", {"cpu": 4}, {"cpu": 2, "gres/gpu": 5}) == "cpu=4,gres/gpu=-1"


def test_rows_become_entities() -> None:
    qos = ["Q", "owner", *("gres/gpu=5" if field == "MaxTRESPU" else "" for field in QOS_FIELDS)]
    lab = ["A", "gp", "lab", "", "", "root", *("" for _ in ASSOC_FIELDS)]
    ada = ["A", "gp", "lab", "ada", "", "", *("owner" if field == "QOS" else "" for field in ASSOC_FIELDS)]
    partition = ["A", "gp", "lab", "ada", "short", "", *("3" if field == "MaxJobs" else "" for field in ASSOC_FIELDS)]
    rows = [["C", "gp"], ["T", "gres", "gpu"], ["T", "cpu", ""], qos, lab, ada, partition, ["U", "ada", "lab", "None"]]
    rows += [["K", "lab", "ada,ada"], ["O", "far"], ["R", ""], ["J", "lab", "ada", "owner"], ["P", "owner"]]
    state = together(rows)
    assert state.tres == ["cpu", "gres/gpu"]
    assert state.trouble is None
    assert state.entities["cluster"] == ["gp"]
    assert state.entities["qos"]["owner"]["MaxTRESPU"] == {"gres/gpu": 5}
    assert state.entities["accounts"]["lab"]["parent"] == "root"
    assert state.entities["users"]["ada"]["default_account"] == "lab"
    assert list(state.entities["users"]["ada"]["accounts"]) == ["lab"]
    assert state.entities["users"]["ada"]["accounts"]["lab"]["QOS"] == ["owner"]
    partitions = state.entities["users"]["ada"]["partitions"]
    assert {account: [*inside] for account, inside in partitions.items()} == {"lab": ["short"]}
    assert partitions["lab"]["short"]["MaxJobs"] == 3
    assert state.entities["accounts"]["lab"]["coordinators"] == ["ada"]
    assert state.entities["elsewhere"] == ["far"]
    assert state.entities["jobs"] == [["lab", "ada", "owner"]]
    assert state.entities["partitions"] == ["owner"]


def test_an_error_in_the_middle_is_a_failure_and_not_an_empty_database() -> None:
    assert together([["C", "gp"], ["Q", "sacctmgr: error: Connection refused"]]).trouble is not None
