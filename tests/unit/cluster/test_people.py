"""Users of a CSV file become entries that an inventory accepts, or complaints with their lines."""

from pathlib import Path

import pytest

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.edit.nodes import flow
from gpupool.cluster.people import users_of
from gpupool.cluster.text import read

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample kira@laptop"
KEY_BEGINS = "-----BEGIN OPENSSH PRIVATE " + "KEY-----"  # in two parts: no file of the repository holds a key


def csv(folder: Path, text: str) -> Path:
    (folder / "people.csv").write_bytes(text.encode())
    return folder / "people.csv"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_rows_become_entries_as_spreadsheets_write_them(between: str, end: str, mark: str, tmp_path: Path) -> None:
    rows = [
        ["Name", "UID", "Account", "Full name", "accounts", "keys", "until", "coordinator"],
        ["kira", "20001", "red", '"Nerys, Kira; ""K"""', '"blue;green"', KEY, "2030-01-31", "TRUE"],
        ["odo", "20002", "red", "", "", "", "", "", "", ""],
        ["", "", "", "", "", "", "", ""],
    ]
    users = users_of(csv(tmp_path, mark + end.join(between.join(row) for row in rows) + end))
    assert users == [
        {
            "name": "kira", "uid": 20001, "account": "red", "full_name": 'Nerys, Kira; "K"',
            "accounts": ["blue", "green"], "keys": [KEY], "until": "2030-01-31", "coordinator": True,
        },
        {"name": "odo", "uid": 20002, "account": "red"},
    ]  # fmt: skip
    (tmp_path / "users.yml").write_text(f"users: {flow(users)}\n")
    assert read(tmp_path / "users.yml").data == {"users": users}


def test_an_account_is_given_to_rows_without_one(tmp_path: Path) -> None:
    file = csv(tmp_path, "name,uid,account\nkira,20001,\nodo,20002,blue\n")
    assert [user["account"] for user in users_of(file, "red")] == ["red", "blue"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("name,uid,acount\nkira,20001,red\n", ":1: error: 'acount' is not a key of a user (did you mean account?)"),
        ("name,uid,name,account\n", ":1: error: two columns are name"),
        ("name,uid,account,grants\n", ":1: error: 'grants' is not a key of a user"),
        ("name,uid,account\nkira,20001,red\n\nodo,20002,\n", ":4: error: users[1].account: is missing"),
        (
            'name,uid,account,full_name\nkira,20001,red,"two\nlines"\nodo,7,red,\n',
            ":4: error: users[1].uid: must be at",
        ),
        ("name,uid,account\nkira,20001,red,7\n", ":2: error: 4 cells; the first row has 3 columns"),
        ("name,uid,account\nki ra,2000x,red\n", ":2: error: users[0].name: 'ki ra'"),
        ("name,uid,account\nki ra,2000x,red\n", ":2: error: users[0].uid: must be a number, not '2000x'"),
        ("name,uid,account,keys\nkira,20001,red," + KEY_BEGINS + "\n", "this is a private key"),
        ('name,uid,account\n"kira,20001,red\n', "not CSV"),
        ("", ":1: error: has no rows"),
        ("\n\n", ":1: error: has no rows"),
    ],
)
def test_each_mistake_has_its_line(text: str, shown: str, tmp_path: Path) -> None:
    with pytest.raises(BadInventoryError) as error:
        users_of(csv(tmp_path, text))
    assert shown in str(error.value)


def test_a_file_that_cannot_be_read_is_a_complaint(tmp_path: Path) -> None:
    with pytest.raises(BadInventoryError, match=r"people.csv:1: error: cannot be read: No such file"):
        users_of(tmp_path / "people.csv")
    (tmp_path / "people.csv").write_bytes("name\nJürgen\n".encode("latin-1"))
    with pytest.raises(BadInventoryError, match="not UTF-8 text: invalid byte at offset 6"):
        users_of(tmp_path / "people.csv")
