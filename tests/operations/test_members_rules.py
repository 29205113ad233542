"""Members of a directory's groups: who becomes a user of which account, and who stays in case of doubt."""

import re
from typing import Any

import pytest
from changing import words
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeState

from gpupool.facts.directory import MembersState
from gpupool.operations import diffs
from gpupool.operations.accounting import entities
from gpupool.operations.members import people, with_members
from gpupool.wanted import Roster
from tests.operations.test_operation_cases import AnsweringHost

PLAIN = {"red": {"default_account": "red", "accounts": {"red": {"MaxSubmit": 9}, "all": {}}}}
BLUE = {"blue": {"default_account": "blue", "accounts": {"blue": {}}}}
ROSTER = Roster("directory", {"red": "lab-red", "blue": "lab-blue"}, 30000, 39999, frozenset({"ann"}), PLAIN | BLUE, 2)
WANTED: dict[str, Any] = {"users": {"ann": {"accounts": {"red": {}}}}}


def state(red: list[str], blue: list[str] | None = None, away: str | None = None) -> MembersState:
    users = {name: (30000 + at, 30500) for at, name in enumerate(sorted({*red, *(blue or [])}))}
    return MembersState({"lab-red": red, "lab-blue": blue or []}, users, {}, away)


def now(**users: str) -> dict[str, Any]:
    return {"users": {name: {"accounts": {key: {} for key in its.split()}} for name, its in users.items()}}


def test_a_member_has_the_associations_of_a_listed_user() -> None:
    wanted, left = with_members(WANTED, ROSTER, state(["bob"]), now())
    assert wanted["users"] == {**WANTED["users"], "bob": PLAIN["red"]}
    assert not left


def test_a_member_of_two_groups_is_in_both_accounts_and_the_first_is_the_default() -> None:
    wanted, _ = with_members(WANTED, ROSTER, state(["bob"], ["bob"]), now())
    assert wanted["users"]["bob"]["default_account"] == "red"
    assert list(wanted["users"]["bob"]["accounts"]) == ["red", "all", "blue"]


def test_a_listed_user_has_the_values_of_the_inventory() -> None:
    wanted, _ = with_members(WANTED, ROSTER, state(["ann", "bob"], ["ann"]), now(ann="red"))
    assert wanted["users"]["ann"] == WANTED["users"]["ann"]


def test_a_member_of_the_sites_accounting_file_has_the_values_of_the_file_and_the_accounts_of_the_groups() -> None:
    own = {
        "default_account": "fish",
        "accounts": {"fish": {}, "red": {"MaxJobs": 1}},
        "partitions": {"red": {"big": {}}},
    }
    wanted, _ = with_members({"users": {**WANTED["users"], "bob": own}}, ROSTER, state(["bob"]), now())
    assert wanted["users"]["bob"] == {**own, "accounts": {**own["accounts"], "all": {}}}


def test_a_user_who_left_the_group_is_no_longer_wanted() -> None:
    wanted, left = with_members(WANTED, ROSTER, state(["bob"]), now(bob="red", eve="red"))
    assert "eve" not in wanted["users"]
    assert not left


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (state(["bob"], away="no server answers"), r"the directory does not answer \(no server answers\): 3 stay"),
        (MembersState(away="sssd does not run"), r"the directory does not answer \(sssd does not run\): 3 stay"),
        (state([]), "the group has no members who can be users: 3 stay"),
        (MembersState({"lab-blue": []}, {}), "the directory has no such group: 3 stay"),
    ],
)
def test_an_empty_or_missing_answer_removes_no_user(answer: MembersState, reason: str) -> None:
    wanted, left = with_members(WANTED, ROSTER, answer, now(bob="red", eve="red", dan="red", ann="red"))
    assert {"bob", "eve", "dan"} <= set(wanted["users"])
    assert re.match(reason, left["users of red, from group lab-red"])


def test_too_many_users_at_once_are_not_removed() -> None:
    wanted, left = with_members(WANTED, ROSTER, state(["bob"]), now(eve="red", dan="red", tom="red"))
    assert {"bob", "eve", "dan", "tom"} <= set(wanted["users"])
    assert left == {
        "users of red, from group lab-red": "3 are no longer in the group, and max_removals in `directory` is 2: "
        "3 stay as they are"
    }


@pytest.mark.parametrize("name", ["o'neil", "x\ny", "a,b", "-rf", "..", "a b", "Root", "x:0", "7up", "a/../b", "ü", ""])
def test_an_invalid_user_name_is_named_and_left_out(name: str) -> None:
    found = state([name, "bob"])
    fit, unusable = people(found, ROSTER)
    assert [member.name for member in fit] == ["bob"]
    assert unusable == {name: "not a valid user name"}


def test_a_member_with_a_uid_outside_the_range_or_of_the_node_is_no_user() -> None:
    found = MembersState(
        {"lab-red": ["low", "ghost", "same", "taken", "fine"]},
        {"low": (0, 30500), "same": (30001, 30500), "taken": (30002, 30500), "fine": (30003, 30500)},
        {"same": 1001, "games": 30002},
    )
    fit, unusable = people(found, ROSTER)
    assert [member.name for member in fit] == ["fine"]
    assert unusable["low"] == unusable["ghost"]
    assert "within 30000-39999" in unusable["low"]
    assert unusable["same"] == "the node already has a user same with uid 1001"
    assert unusable["taken"] == "the node already has a user games with uid 30002"


def test_apply_does_everything_else_and_then_names_the_missing_directory() -> None:
    fake = FakeState()
    fake.is_executing = False
    facts = {"accounting.Accounting": ["X|no answer"], "directory.Members": ["X:sssd does not run"]}
    host = AnsweringHost(fake, "n1", facts, {})
    wanted = {"cluster": "gp", "qos": {}, "accounts": {"red": {}, "blue": {}, "all": {}}, "users": {}}
    with ctx_state.use(fake), ctx_host.use(host):
        commands = [str(command) for command in entities._inner(wanted=wanted, roster=ROSTER)]
        shown = words(diffs.take(host, None))
    assert len(commands) == 2
    assert "users of red, from group lab-red: the directory does not answer (sssd does not run)" in commands[1]
    assert "account red" in shown
