"""`labs/ACCOUNT.yml`, which the head of a lab may change, has users of that lab and gives no other right."""

import json
from pathlib import Path

import pytest
from inventories import SMALL, changed, copied

from gpupool.cluster.load import Loaded, examine
from gpupool.compile.slurm.accounting import entities

RESERVED = ("kind: lab, gid: 5001", "kind: lab, gid: 5001, uids: 21001-21999")
BLUE = ("kind: lab, gid: 5002", "kind: lab, gid: 5002, uids: 22001-22999")
GOOD = "users:\n  - {name: kira, uid: 21001, full_name: Kira N., until: 2030-01-31}\n  - {name: odo, uid: 21002}\n"


def site(folder: Path, text: str, name: str = "red.yml", *replaced: tuple[str, str]) -> Path:
    copied(SMALL, folder, RESERVED, *replaced)
    (folder / "labs").mkdir()
    (folder / "labs" / name).write_text(text)
    return folder


def complaints(loaded: Loaded, folder: Path) -> list[str]:
    return [str(one).replace(f"{folder}/", "") for one in loaded.errors]


def test_its_users_are_users_of_the_lab_with_the_lines_of_their_file(tmp_path: Path) -> None:
    loaded = examine(site(tmp_path, GOOD))
    assert loaded.cluster is not None, complaints(loaded, tmp_path)
    users = {user.name: user.account for user in loaded.cluster.users.values()}
    assert users == {"ann": "red", "kira": "red", "odo": "red"}
    assert str(loaded.places["users", 2, "uid"]) == f"{tmp_path}/labs/red.yml:3"
    in_one_file = GOOD.removeprefix("users:\n").replace("}", ", account: red}")
    cluster = changed(SMALL, tmp_path / "one", RESERVED, ("  - {name: ann,", f"{in_one_file}  - {{name: ann,"))
    assert json.dumps(entities(cluster), sort_keys=True) == json.dumps(entities(loaded.cluster), sort_keys=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("accounts: [{name: red, contributed_gpus: 16}]\n", "labs/red.yml:1: error: accounts: accounts cannot be set"),
        ("policies:\n  nofile: 1\n" + GOOD, "labs/red.yml:1: error: policies: policies cannot be set"),
        ("users: [{name: kira, uid: 21001, account: blue}]\n", "'blue' is not the account of this file"),
        ("users: [{name: kira, uid: 20001}]\n", "20001 is not one of red's uids, 21001-21999"),
        ("users: [{name: kira, uid: 22001}]\n", "22001 is not one of red's uids"),
        ("users: [{name: kira, uid: '21001'}]\n", "must be a number"),
        ("users: [{name: ann, uid: 21001}]\n", "labs/red.yml:1: error: users[1].name: the user ann is defined twice"),
        ("users: [{name: kira, uid: 21001}, {name: odo, uid: 21001}]\n", "the user id 21001 is defined twice"),
        ("users: [{name: kira, uid: 21001, fullname: K}]\n", "unknown key"),
        ("users: &a [{name: kira, uid: 21001}]\nx: *a\n", "labs/red.yml:2: error: x: x cannot be set"),
        ("users: kira\n", "users of red must be a list of users"),
        ("users: [kira]\n", "users of red must be a list of users"),
        ("- kira\n", "labs/red.yml:1: error: an inventory file is a mapping"),
        ("users: [\n", "labs/red.yml:2: error: not YAML"),
    ],
)
def test_everything_else_is_refused_with_its_line(text: str, shown: str, tmp_path: Path) -> None:
    found = complaints(examine(site(tmp_path, text, "red.yml", BLUE)), tmp_path)
    assert [line for line in found if shown in line], found
    assert all(line.startswith("labs/red.yml:") for line in found)


@pytest.mark.parametrize(
    "right",
    [
        "accounts: [blue]",
        "coordinator: true",
        "qos: [normal]",
        "grants: [{qos: normal, until: 2030-01-31}]",
        "partitions: [all]",
        "default_partition: all",
        "first_password: must_change",
    ],
)
def test_no_user_gets_a_right_by_it(right: str, tmp_path: Path) -> None:
    (found,) = complaints(examine(site(tmp_path, f"users:\n  - name: kira\n    uid: 21001\n    {right}\n")), tmp_path)
    key = right.partition(":")[0]
    assert found.startswith(f"labs/red.yml:4: error: users[1].{key}: {key} cannot be set in the file of a lab (")


@pytest.mark.parametrize(
    ("name", "replaced", "shown"),
    [
        ("blue.yml", (), "labs/blue.yml:1: error: blue has no uids that its file may give to users (set uids"),
        ("blu.yml", (), "labs/blu.yml:1: error: there is no account blu (did you mean blue.yml?)"),
        ("green.yml", (), "labs/green.yml:1: error: there is no account green (name the file after the account)"),
        ("blue.yml", (BLUE[0], "kind: lab, gid: 5002, uids: 21500-22999"), "and the uids of red, 21001-21999, overlap"),
        ("blue.yml", (BLUE[0], "kind: lab, gid: 5002, uids: 99"), "is not a range of ids"),
    ],
)
def test_a_file_needs_an_account_with_separate_uids(
    name: str, replaced: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    more = [(replaced[0], replaced[1])] if replaced else []
    found = complaints(examine(site(tmp_path, "users: []\n", name, *more)), tmp_path)
    assert [line for line in found if shown in line], found


def test_it_leads_to_no_other_file(tmp_path: Path) -> None:
    """A link could have gpupool read, or an edit write, a file outside of the folder."""
    (tmp_path / "secret.yml").write_text(GOOD)
    folder = site(tmp_path / "site", GOOD)
    file = folder / "labs" / "red.yml"
    file.unlink()
    file.symlink_to(tmp_path / "secret.yml")
    assert complaints(examine(folder), folder) == [
        "labs/red.yml:1: error: a link; the file of a lab must be a file (write its users here)"
    ]
    file.unlink()
    file.mkdir()
    (file / "x.yml").symlink_to(tmp_path / "secret.yml")
    assert complaints(examine(folder), folder) == ["labs/red.yml:1: error: not a file (remove it from labs/)"]
    file.rename(folder / "elsewhere")
    (folder / "labs").rmdir()
    (folder / "labs").symlink_to(tmp_path)
    assert complaints(examine(folder), folder) == ["labs:1: error: a link: write a folder"]


def test_its_head_checks_the_whole_inventory(tmp_path: Path) -> None:
    (found,) = complaints(examine(site(tmp_path, GOOD) / "labs" / "red.yml"), tmp_path)
    assert found.endswith(f"only a part of an inventory: `cluster` is missing (use its folder: {tmp_path})")
