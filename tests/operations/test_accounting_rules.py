"""Reconciling on a small model of slurmdbd: it ends in the wanted state, and touches only our own entities."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.change import Aspect
from gpupool.facts.accounting import empty
from gpupool.operations.accounting import blocked, closings, difference, normal
from gpupool.operations.accounting.removal import kept_for_others
from gpupool.operations.accounting.steps import Step, properties
from gpupool.slurm.associations import associations
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, parse
from tests.operations.slurmdbd import Slurmdbd

SOME_TRES = some.fixed_dictionaries({}, optional={"cpu": some.integers(1, 9), "gres/gpu:a40": some.integers(1, 9)})
FIELDS = {
    "Priority": some.integers(1, 9),
    "MaxTRESPU": SOME_TRES,
    "MaxWall": some.none() | some.integers(1, 9999),
    "MaxSubmitPU": some.integers(1, 9),
}
INSIDE = {
    "GrpTRES": SOME_TRES,
    "Fairshare": some.just("parent") | some.integers(1, 9),
    "MaxSubmit": some.integers(1, 9),
    "MaxJobsAccrue": some.integers(1, 9),
}
LABS = ["la", "lb", "lc", "ld"]
USERS = ["ada", "bob", "eve", "tom"]
QOS = ["qa", "qb", "qc"]


@some.composite
def wanted(draw: some.DrawFn) -> dict[str, Any]:
    """Draw an inventory: accounts in a tree, users in some of them, coordinators, QoS."""
    qos = draw(some.lists(some.sampled_from(QOS), unique=True))
    names = some.lists(some.sampled_from(qos), unique=True) if qos else some.just([])

    def inside() -> dict[str, Any]:
        values: dict[str, Any] = draw(some.fixed_dictionaries({}, optional={**INSIDE, "QOS": names}))
        default = {"DefaultQOS": values["QOS"][0]} if values.get("QOS") and draw(some.booleans()) else {}
        return {**values, **default}

    labs = draw(some.lists(some.sampled_from(LABS), unique=True, min_size=1))
    users: dict[str, dict[str, Any]] = {}
    for user in draw(some.lists(some.sampled_from(USERS), unique=True)):
        mine = draw(some.lists(some.sampled_from(labs), unique=True, min_size=1))
        default = draw(some.sampled_from(mine))
        users[user] = {"accounts": {}, "partitions": {}, "default_account": default}
        for lab in mine:
            places = draw(some.lists(some.sampled_from(["", "gpu", "big"]), unique=True, min_size=1))
            users[user]["partitions"][lab] = {place: inside() for place in places if place}
            if "" in places:
                users[user]["accounts"][lab] = inside()
    admins = some.lists(some.sampled_from(sorted(users)), unique=True) if users else some.just([])
    accounts = {}
    for at, lab in enumerate(labs):
        parent = draw(some.sampled_from(["root", *labs[:at]]))
        accounts[lab] = {"parent": parent, **inside(), "coordinators": draw(admins)}
    accounts = {lab: accounts[lab] for lab in draw(some.permutations(labs))}
    found = {name: draw(some.fixed_dictionaries({}, optional={**FIELDS, "Preempt": names})) for name in qos}
    root = draw(some.just({}) | some.just({"Fairshare": 2, "GrpTRES": {"cpu": 9}}))
    return {"cluster": "gp", "root": root, "qos": found, "accounts": accounts, "users": users}


def reconcile(slurmdbd: Slurmdbd, goal: dict[str, Any]) -> None:
    for step in difference(slurmdbd.entities(), goal):
        slurmdbd.carry_out(step)


@given(wanted(), wanted())
def test_the_commands_lead_from_any_state_to_any_other(first: dict[str, Any], second: dict[str, Any]) -> None:
    slurmdbd = Slurmdbd()
    for goal in (normal(first), normal(second)):
        reconcile(slurmdbd, goal)
        there = slurmdbd.entities()
        assert difference(there, goal) == []
        assert blocked(there, goal) == {}
        assert set(there["qos"]) == set(goal["qos"])
        assert set(there["accounts"]) == {"root", *goal["accounts"]}
        mine = {name: {each[:2] for each in associations(user)} for name, user in there["users"].items()}
        assert mine == {"root": {("root", "")}} | {
            name: {each[:2] for each in associations(user)} for name, user in goal["users"].items()
        }


@given(wanted(), wanted())
def test_two_steps_have_the_same_result_as_one(first: dict[str, Any], second: dict[str, Any]) -> None:
    slurmdbd = Slurmdbd()
    for goal in (first, second):
        before = slurmdbd.entities()
        reconcile(slurmdbd, normal(goal, limits=False))
        there = slurmdbd.entities()
        assert set(before["users"]) <= set(there["users"])
        assert set(before["qos"]) | set(goal["qos"]) == set(there["qos"])
        reconcile(slurmdbd, normal(goal))
        assert difference(slurmdbd.entities(), normal(goal)) == []


@given(wanted(), wanted(), some.data())
def test_an_interrupted_run_is_finished_by_the_next(
    first: dict[str, Any], second: dict[str, Any], data: some.DataObject
) -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal(first))
    steps = difference(slurmdbd.entities(), normal(second))
    for step in steps[: data.draw(some.integers(0, len(steps)))]:
        slurmdbd.carry_out(step)
    reconcile(slurmdbd, normal(second))
    assert difference(slurmdbd.entities(), normal(second)) == []


@given(wanted(), wanted(), some.data())
def test_entities_with_jobs_root_and_other_clusters_are_never_touched(
    first: dict[str, Any], second: dict[str, Any], data: some.DataObject
) -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal(first))
    there = slurmdbd.held
    places = [(name, each[0]) for name, user in first["users"].items() for each in associations(user)]
    places = [*dict.fromkeys(places)]
    if places:
        at = data.draw(some.lists(some.sampled_from(places), unique=True, max_size=3))
        qos = some.sampled_from(["normal", *first["qos"]])
        there["jobs"] = [[account, user, data.draw(qos)] for user, account in at]
    there["elsewhere"] = data.draw(some.lists(some.sampled_from(["root", *LABS]), unique=True))
    if data.draw(some.booleans()):
        there["cluster"].append("other")
    there["qos"]["normal"] = {field: parse(field, None) for field in QOS_FIELDS}
    inside = data.draw(some.sampled_from(sorted(there["accounts"])))
    there["users"]["root"]["accounts"][inside] = deepcopy(there["accounts"][inside])
    for user in data.draw(
        some.lists(some.sampled_from(sorted(set(there["users"]) - {"root"}) or ["root"]), unique=True)
    ):
        if user != "root":
            account = next(associations(there["users"][user]))[0]
            short = {field: parse(field, None) for field in ASSOC_FIELDS}
            there["users"][user]["partitions"].setdefault(account, {})["short"] = short
    root, before, qos_before = deepcopy(there["users"]["root"]), slurmdbd.entities(), set(there["qos"])
    goal = normal(second)
    reconcile(slurmdbd, goal)
    after = slurmdbd.entities()
    # the model refuses to delete entities with jobs; what is left is named, and there is nothing else to do
    assert difference(after, goal) == []
    assert set(blocked(after, goal)) == set(blocked(before, goal))
    for account, user, qos in there["jobs"]:
        assert account in {each[0] for each in associations(after["users"][user])}
        assert account in after["accounts"]
        assert qos in after["qos"]
    assert after["users"]["root"]["accounts"].keys() == root["accounts"].keys()
    assert {"root", inside} <= set(after["accounts"])
    assert "normal" in after["qos"]
    if "other" in after["cluster"]:
        assert qos_before <= set(after["qos"])


def test_if_jobs_are_unknown_nothing_is_removed() -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal({"cluster": "gp", "accounts": {"la": {}}, "users": {"ada": {"accounts": {"la": {}}}}}))
    there = slurmdbd.entities() | {"jobs": None}
    goal = normal({"cluster": "gp"})
    assert difference(there, goal) == []
    assert set(blocked(there, goal)) == {"user ada in account la", "account la"}


def test_an_association_with_jobs_is_closed_once_and_a_return_opens_it() -> None:
    slurmdbd = Slurmdbd()
    users = {"ada": {"accounts": {"la": {"GrpSubmit": 50}}}}
    member = normal({"cluster": "gp", "accounts": {"la": {}}, "users": users})
    gone = normal({"cluster": "gp", "accounts": {"la": {}}})
    reconcile(slurmdbd, member)
    slurmdbd.held["jobs"] = [["la", "ada", "normal"]]
    for each in closings(slurmdbd.entities(), gone):
        slurmdbd.carry_out(each)
    closed = slurmdbd.entities()
    assert [closed["users"]["ada"]["accounts"]["la"][name] for name in ("GrpSubmit", "GrpJobs")] == [0, 0]
    assert (closings(closed, gone), difference(closed, gone)) == ([], [])
    reconcile(slurmdbd, member)
    opened = slurmdbd.entities()["users"]["ada"]["accounts"]["la"]
    assert (opened["GrpSubmit"], opened["GrpJobs"]) == (50, None)


def test_a_qos_of_a_running_partition_is_kept() -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal({"cluster": "gp", "qos": {"qa": {}}}))
    there, goal = slurmdbd.entities() | {"partitions": ["qa"]}, normal({"cluster": "gp"})
    assert difference(there, goal) == []
    assert blocked(there, goal) == {"QoS qa": "a partition of the running slurmctld uses it"}


def test_a_qos_of_an_account_that_is_kept_is_kept_too() -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal({"cluster": "gp", "qos": {"qa": {}}, "accounts": {"la": {"QOS": ["qa"]}}}))
    there, goal = slurmdbd.entities() | {"jobs": [["la", "ada", "normal"]]}, normal({"cluster": "gp"})
    assert difference(there, goal) == []
    assert blocked(there, goal) == {
        "account la": "it has running or pending jobs",
        "QoS qa": "account la cannot be removed yet and uses it",
    }


def test_a_coordinator_loses_one_account_and_the_others_are_not_touched() -> None:
    users = {"ada": {"accounts": {"la": {}, "lb": {}}, "default_account": "la"}}
    slurmdbd = Slurmdbd()

    def goal(of_lb: list[str]) -> dict[str, Any]:
        accounts = {"la": {"coordinators": ["ada"]}, "lb": {"coordinators": of_lb}}
        return normal({"cluster": "gp", "accounts": accounts, "users": users})

    reconcile(slurmdbd, goal(["ada"]))
    (only,) = difference(slurmdbd.entities(), goal([]))
    assert [(item, each.note) for item, (each,) in only.changes] == [("coordinator ada", "removed from lb")]


def test_unset_values_are_left_alone_unless_the_state_is_exact() -> None:
    there = empty() | {"cluster": ["gp"], "qos": {"qa": {field: parse(field, None) for field in QOS_FIELDS}}}
    there["qos"]["qa"]["GrpJobs"] = 7
    there["qos"]["qb"] = there["qos"]["qa"]
    there["jobs"] = []
    few: dict[str, Any] = {"cluster": "gp", "qos": {"qa": {}}}
    assert difference(there, normal(few, exact=False)) == []
    assert [(step.arguments[0], step.names, step.settings) for step in difference(there, normal(few))] == [
        ("modify", ("qa",), ("GrpJobs=-1",)),
        ("delete", ("qb",), ()),
    ]


@pytest.mark.parametrize(
    ("limit", "value", "line"),
    [
        ("DefaultQOS", "qa", "DefaultQOS='qa'"),
        ("Fairshare", 3, "Fairshare='3'"),
        ("GrpTRES", {"cpu": 4}, "GrpTRES='cpu=4'"),
        ("GrpTRESMins", {"cpu": 4}, "GrpTRESMins='cpu=4'"),
        ("GrpTRESRunMins", {"cpu": 4}, "GrpTRESRunMins='cpu=4'"),
        ("GrpJobs", 3, "GrpJobs='3'"),
        ("GrpSubmit", 3, "GrpSubmitJobs='3'"),
        ("MaxJobs", 3, "MaxJobs='3'"),
        ("MaxSubmit", 3, "MaxSubmitJobs='3'"),
        ("MaxTRES", {"gres/gpu": 2}, "MaxTRESPerJob='gres/gpu=2'"),
        ("MaxTRESPerNode", {"cpu": 4}, "MaxTRESPerNode='cpu=4'"),
        ("MaxTRESMins", {"cpu": 4}, "MaxTRESMinsPerJob='cpu=4'"),
        ("QOS", ["qa"], "QOS='qa'"),
    ],
)
def test_limits_of_a_new_user_are_loaded_with_the_names_of_a_dump(limit: str, value: Any, line: str) -> None:
    users = {"ada": {"accounts": {"la": {limit: value}}}}
    goal = normal({"cluster": "gp", "qos": {"qa": {}}, "accounts": {"la": {}}, "users": users})
    (loaded,) = (step.text for step in difference(Slurmdbd().entities(), goal) if step.text)
    assert f"User - 'ada':DefaultAccount='la':{line}" in loaded.splitlines()


def test_all_changes_of_an_entity_are_listed_under_its_name() -> None:
    added, priority, limit = Aspect(note="added"), Aspect("1", "0", "Priority"), Aspect("9", "none", "MaxWall")
    changes = (("QoS qa", (added,)),), (("QoS qa", (priority, limit)),), (("QoS qb", (Aspect(),)),)
    steps = [Step((), (), (), each) for each in changes]
    assert properties(steps) == {"QoS qa": [added, priority, limit], "QoS qb": [Aspect()]}


def test_a_thousand_users_need_a_handful_of_commands() -> None:
    labs = [f"lab{number}" for number in range(20)]
    users = {
        f"u{number}": {"accounts": {labs[number % 20]: {"qos": ["short"]}, "overcap": {}}} for number in range(1000)
    }
    goal = normal(
        {"cluster": "gp", "qos": {"short": {}}, "accounts": {lab: {} for lab in (*labs, "overcap")}, "users": users}
    )
    slurmdbd = Slurmdbd()
    assert len(difference(slurmdbd.entities(), goal)) == 4
    reconcile(slurmdbd, goal)
    assert len(slurmdbd.held["users"]) == 1001


def test_thousands_of_removals_need_a_handful_of_commands() -> None:
    users: dict[str, dict[str, Any]] = {
        f"a-user-of-a-domain-{number:05}@far": {"accounts": {"la": {}}} for number in range(3000)
    }
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal({"cluster": "gp", "accounts": {"la": {}}, "users": users}))
    assert len(difference(slurmdbd.entities(), normal({"cluster": "gp", "accounts": {"la": {}}}))) == 6


def _others() -> dict[str, Any]:
    """Return the entities of a cluster after another system has added to it: users, accounts below, QoS and limits."""
    theirs = {"accounts": {"la": {}, "ld": {"parent": "la", "MaxJobs": 3, "QOS": ["qc"]}, "lc": {}}}
    users = {
        "tom": {"accounts": {"ld": {}, "la": {"MaxSubmit": 7}}, "default_account": "la"},
        "eve": {"accounts": {"lc": {}}},
    }
    return normal({"cluster": "gp", "qos": {"qb": {}, "qc": {}}, **theirs, "users": users})


OURS = {"accounts": {"la": {"exact": False, "GrpTRES": {"cpu": 4}, "coordinators": ["ada"]}},
        "users": {"ada": {"accounts": {"la": {"MaxSubmit": 2}}}}}  # fmt: skip


def test_nothing_is_removed_below_an_account_that_another_system_manages() -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, _others())
    goal = normal({"cluster": "gp", **OURS})
    reconcile(slurmdbd, goal)
    now = slurmdbd.entities()
    assert set(now["accounts"]) == {"root", "la", "ld"}
    assert now["accounts"]["la"]["GrpTRES"] == {"cpu": 4}
    assert now["accounts"]["ld"]["MaxJobs"] == 3
    assert now["users"]["tom"]["accounts"]["la"]["MaxSubmit"] == 7
    assert "eve" not in now["users"]
    assert set(now["qos"]) - {"normal"} == {"qc"}
    assert kept_for_others(now, goal) == ["account ld", "user tom in account ld", "user tom in account la"]
    assert difference(now, goal) == []


def test_where_another_system_manages_all_nothing_is_removed() -> None:
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, _others())
    goal = normal({"cluster": "gp", "exact": False, "qos": {"qa": {}}, **OURS})
    reconcile(slurmdbd, goal)
    now = slurmdbd.entities()
    assert set(now["accounts"]) == {"root", "la", "lc", "ld"}
    assert set(now["qos"]) >= {"qa", "qb", "qc"}
    assert set(kept_for_others(now, goal)) > {"account lc", "user eve in account lc", "QoS qb"}
    assert difference(now, goal) == []


@pytest.mark.parametrize("kept", [True, False])
def test_an_association_with_a_partition_is_removed_unless_another_system_manages_its_account(kept: bool) -> None:
    users = {"ada": {"accounts": {"la": {}}, "default_account": "la"}}
    slurmdbd = Slurmdbd()
    reconcile(slurmdbd, normal({"cluster": "gp", "accounts": {"la": {}}, "users": users}))
    there = slurmdbd.entities() | {"jobs": []}
    there["users"]["ada"]["partitions"]["la"] = {"short": there["users"]["ada"]["accounts"]["la"]}
    account = {"exact": False} if kept else {}
    goal = normal({"cluster": "gp", "accounts": {"la": account}, "users": users})
    slurmdbd.held = deepcopy(there)
    reconcile(slurmdbd, goal)
    after = slurmdbd.entities()
    assert difference(after, goal) == []
    assert after["users"]["ada"]["accounts"].keys() == {"la"}
    assert [*after["users"]["ada"]["partitions"].get("la", {})] == (["short"] if kept else [])
