"""The complaint about subordinate ids with which a user of a node can act as a person of the inventory."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from inventories import SMALL, changed

from gpupool.verify import test_directory

CAMPUS = "uid: 166012"


class Node:
    """A node whose /etc/subuid and /etc/subgid have this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def run(self, _command: str) -> Any:
        return subprocess.run(["printf", "%s", self._text], capture_output=True, text=True, check=True)


def check(folder: Path, uid: str, text: str) -> None:
    at: Any = Node(text)
    test_directory.test_subordinate_ids_are_of_no_person(changed(SMALL, folder, ("uid: 20001", uid)), at, at)


def test_a_user_who_can_act_as_one_with_a_large_uid_is_named(tmp_path: Path) -> None:
    check(tmp_path / "free", CAMPUS, "admin:100000:65536\nu-lent1:1879048192:65536\n")
    with pytest.raises(AssertionError, match=r"by numbers in /etc/subuid or /etc/subgid u-lent1 can act as ann\n"):
        check(tmp_path / "taken", CAMPUS, "admin:100000:65536\nu-lent1:165536:65536\n")


def test_numbers_below_all_subordinate_ones_need_no_look(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception):
        check(tmp_path, "uid: 60000", "u-lent1:60000:65536\n")
