"""Thousands of users and folders are created by a few commands, each short enough for the kernel as one argument."""

from typing import Any

import pytest
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeState

from gpupool.operations import homes, spaces, users
from gpupool.wanted import Folder, Space, User
from tests.operations.test_operation_cases import AnsweringHost

ARGUMENT = 128 * 1024  # bytes: MAX_ARG_STRLEN of Linux
NUMBERS = range(2500)
KEY = f"ssh-rsa {'A' * 716} user@example.org"
FOLDERS = [Folder(f"/export/a-lab/somebody{number}", 5000 + number, 5000, "0700", (KEY,)) for number in NUMBERS]


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        (users.groups, {f"group{number}": 5000 + number for number in NUMBERS}),
        (users.users, [User(f"user{number}", 5000 + number, "lab", home=f"/coc/user{number}") for number in NUMBERS]),
        (homes.present, FOLDERS),
        (spaces.folders, FOLDERS),
        (spaces.tops, [Space(f"/export/lab{number}", 5000, groups=(5001, 5002)) for number in NUMBERS]),
    ],
    ids=["groups", "users", "homes", "folders", "tops"],
)
def test_thousands_of_users_need_a_few_commands_each_short_enough(operation: Any, wanted: Any) -> None:
    state = FakeState()
    facts: dict[str, Any] = {"users.Accounts": [], "homes.Homes": [], "spaces.Folders": []}
    with ctx_state.use(state), ctx_host.use(AnsweringHost(state, "n1", facts, {})):
        sizes = [len(command.get_raw_value().encode()) for command in operation._inner(wanted)]
    assert 1 < len(sizes) < len(NUMBERS) / 10
    assert max(sizes) < ARGUMENT
