"""The rules behind the operations that need no node: when a unit is stale, what a mount unit is called, and so on."""

import subprocess
from collections.abc import Mapping
from copy import deepcopy
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.facts.accounting import empty
from gpupool.facts.limits import ASSOC_FIELDS, QOS_FIELDS, parse
from gpupool.facts.service import UnitState, WatchedFile
from gpupool.operations import units
from gpupool.operations.accounting import Step, difference, normal
from gpupool.operations.diffs import diff_of
from gpupool.operations.service import stale

CONF = "/etc/slurm/slurm.conf"


def unit(now: str, written: float, noted: str | None = None, same: bool = True) -> UnitState:
    return UnitState(
        invocation="now", started=100.0, stamp_invocation="now" if same else "before",
        stamp_sums={} if noted is None else {CONF: noted}, files={CONF: WatchedFile(now, written)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "coming", "is_stale"),
    [
        pytest.param(unit("a", 200, noted="a"), None, False, id="written anew with the same text"),
        pytest.param(unit("b", 200, noted="a"), None, True, id="replaced, and the run died"),
        pytest.param(unit("b", 50, noted="a"), None, True, id="replaced, and the clock was set back"),
        pytest.param(unit("b", 50, noted="a", same=False), None, False, id="replaced, then started by somebody else"),
        pytest.param(unit("b", 200, noted="a", same=False), None, True, id="started by somebody else, then replaced"),
        pytest.param(unit("a", 50), None, False, id="in order before gpupool came"),
        pytest.param(unit("a", 200), None, True, id="no stamp, replaced, and the run died"),
        pytest.param(unit("a", 50, noted="a"), "c", True, id="this run will write it"),
        pytest.param(unit("a", 50, noted="a"), "a", False, id="this run leaves it"),
        pytest.param(unit("-", 0, noted="a"), None, True, id="gone"),
        pytest.param(unit("-", 0), None, False, id="never there"),
        pytest.param(unit("a", 50, noted="-"), None, True, id="came"),
    ],
)
def test_a_unit_is_stale_when_it_has_not_read_its_files(state: UnitState, coming: str | None, is_stale: bool) -> None:
    assert bool(stale(state, {} if coming is None else {CONF: coming})) is is_stale


@given(
    some.lists(
        some.text(some.characters(codec="utf-8", exclude_characters="/\n\0"), min_size=1, max_size=6), min_size=1
    )
)
def test_units_of_different_paths_have_different_names(parts: list[str]) -> None:
    name = units.unit_name("/" + "/".join(parts)).removesuffix(".mount")
    read = name.replace("-", "/").encode().decode("unicode_escape").encode("latin-1").decode()
    assert read == "/".join(parts)


@pytest.mark.skipif(which("systemd-escape") is None, reason="needs systemd-escape")
@pytest.mark.parametrize("path", ["/coc/pskynet1", "/srv/sha-re 4", "/a/.b/c", "/.a", "/ü", "/a_b:c%d"])
def test_systemd_calls_mount_units_the_same(path: str) -> None:
    said = subprocess.run(
        ["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True, check=True
    )
    assert units.unit_name(path) == said.stdout.strip()


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        (None, "a\n", "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+a\n"),
        ("a\n", "a", "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        ("a\n", "a\n", ""),
    ],
)
def test_diffs(before: str | None, after: str, diff: str) -> None:
    assert diff_of(before, after, "/f") == diff


# Accounting: carrying out the commands on a small model of slurmdbd must end in what was wanted.

SOME_TRES = some.fixed_dictionaries({}, optional={"cpu": some.integers(1, 9), "gres/gpu": some.integers(1, 9)})
SOME_QOS = some.lists(some.sampled_from(["qa", "qb"]), unique=True)
FIELDS = {
    "Priority": some.integers(1, 9),
    "MaxTRESPU": SOME_TRES,
    "Preempt": SOME_QOS,
    "MaxWall": some.none() | some.integers(1, 9999),
}
INSIDE = {"GrpTRES": SOME_TRES, "qos": SOME_QOS, "Fairshare": some.just("parent") | some.integers(1, 9)}
LABS = ["la", "lb", "lc"]


@some.composite
def wanted(draw: some.DrawFn) -> dict[str, Any]:
    labs = draw(some.permutations(LABS))
    accounts = {}
    for at, lab in enumerate(labs):
        parent = draw(some.sampled_from(["root", *labs[:at]]))
        accounts[lab] = {"parent": parent, **draw(some.fixed_dictionaries({}, optional=INSIDE))}
    accounts = {lab: accounts[lab] for lab in draw(some.permutations(labs))}
    users = {}
    for user in draw(some.lists(some.sampled_from(["ada", "bob", "eve", "tom"]), unique=True)):
        mine = draw(some.lists(some.sampled_from(LABS), unique=True, min_size=1))
        users[user] = {"accounts": {lab: draw(some.fixed_dictionaries({}, optional=INSIDE)) for lab in mine}}
        users[user]["default_account"] = draw(some.sampled_from(mine))
    qos = {name: draw(some.fixed_dictionaries({}, optional=FIELDS)) for name in ("qa", "qb")}
    return {"cluster": "gp", "qos": qos, "accounts": accounts, "users": users}


@given(wanted(), wanted())
def test_the_commands_lead_from_any_state_to_any_other(first: dict[str, Any], second: dict[str, Any]) -> None:
    slurmdbd = empty()
    for goal in (normal(first), normal(second)):
        for step in difference(slurmdbd, goal):
            carry_out(slurmdbd, step)
        assert difference(slurmdbd, goal) == []


def carry_out(slurmdbd: dict[str, Any], step: Step) -> None:
    """Do what sacctmgr would: names must be there before they are used, settings merge into what is there."""
    verb, kind, *rest = step.words
    options = dict(word.split("=", 1) for word in rest if "=" in word and "{}" not in word)
    for name in step.names:
        if kind == "cluster":
            slurmdbd["cluster"].append(name)
            slurmdbd["accounts"]["root"] = {"parent": ""}
        elif kind == "qos":
            there = slurmdbd["qos"]
            assert (name in there) == (verb == "modify")
            there.setdefault(name, {field: parse(field, None) for field in QOS_FIELDS})
            merge(there[name], step.settings)
            assert set(there[name]["Preempt"]) <= set(there)
        elif kind == "account":
            there = slurmdbd["accounts"]
            assert (name in there) == (verb == "modify")
            there.setdefault(name, {field: parse(field, None) for field in ASSOC_FIELDS})
            merge(there[name], [*(f"parent={options['parent']}" for _ in "x" if "parent" in options), *step.settings])
            assert there[name]["parent"] in there
        else:
            carry_out_user(slurmdbd, verb, name, options, step.settings)


def carry_out_user(slurmdbd: dict[str, Any], verb: str, name: str, options: Mapping[str, str], settings: Any) -> None:
    account = options.get("account")
    assert account is None or account in slurmdbd["accounts"]
    if verb == "add":
        user = slurmdbd["users"].setdefault(name, {"default_account": account, "accounts": {}, "AdminLevel": "None"})
        assert account not in user["accounts"]
        user["accounts"][account] = {field: parse(field, None) for field in ASSOC_FIELDS}
    user = slurmdbd["users"][name]
    if account is not None:
        merge(user["accounts"][account], settings)
        return
    (default,) = [text.removeprefix("DefaultAccount=") for text in settings]
    assert default in user["accounts"]
    user["default_account"] = default


def merge(there: dict[str, Any], settings: Any) -> None:
    for text in settings:
        field, given = text.split("=", 1)
        if field == "parent":
            there["parent"] = given
        elif isinstance(there[field], dict):
            pairs = [pair.split("=") for pair in given.split(",") if pair]
            there[field] = {
                name: value for name, value in {**there[field], **{n: int(v) for n, v in pairs}}.items() if value != -1
            }
        else:
            there[field] = parse(field, given)


def test_what_is_not_said_is_not_touched() -> None:
    there = empty() | {"cluster": ["gp"], "qos": {"qa": {field: parse(field, None) for field in QOS_FIELDS}}}
    there["qos"]["qa"]["Priority"] = 7
    before = deepcopy(there)
    assert difference(there, normal({"cluster": "gp", "qos": {"qa": {}}})) == []
    assert there == before
