"""budget in the form of a node, with a fake sshare that prints 24.11's output; and the file for the submit plugin."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
#: As on a node: the programs of gpupool and the standard library, and no other modules.
PYTHON = [sys.executable, "-P", "-B", "-m"]
SSHARE = """#!/bin/sh
[ -e "$FOLDER/down" ] && { echo "Unable to contact slurm controller" >&2; exit 1; }
cat "$FOLDER/json"
"""


def share(
    name: str, parent: str, *, user: bool = False, minutes: int | None = None, used: float = 0, running: int = 0
) -> Any:
    """Return an entry of `sshare --json`; used and running in seconds of billing."""
    limit = {"set": minutes is not None, "infinite": minutes is None, "number": minutes or 0}
    amounts: dict[str, Any] = {
        "run_seconds": {"set": True, "infinite": False, "number": running},
        "group_minutes": limit,
        "usage": used,
    }
    tres = {
        key: [{"name": "cpu", "value": value}, {"name": "billing", "value": value}] for key, value in amounts.items()
    }
    return {"name": name, "parent": parent, "partition": "", "type": ["USER" if user else "ASSOCIATION"], "tres": tres}


SHARES = [
    share("root", ""),
    share("root", "root", user=True),
    share("red", "root", minutes=600, used=3600.4, running=1800),
    share("ann", "red", user=True, used=1800),
    share("bob", "red", user=True, minutes=60, used=1800.4),
    share("part", "red", minutes=120),
    share("ann", "part", user=True),
    share("free", "root", used=7200),
]


class Node:
    """A node, simulated in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin" / "sshare").write_text(SSHARE)
        (folder / "bin" / "sshare").chmod(0o755)
        self.env = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'gpupool' / 'programs'}:{ROOT}",
            "FOLDER": str(folder),
        }
        self.has(SHARES)

    def has(self, shares: list[Any]) -> None:
        (self.folder / "json").write_text(json.dumps({"shares": {"shares": shares}}))

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*PYTHON, module, *arguments], env=self.env, capture_output=True, text=True, check=False)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.promise("SDU-027")
def test_the_table_has_every_budget_in_hours(node: Node) -> None:
    done = node.run("budget", "UA")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "ACCOUNT  USER  BUDGET  USED  RUNNING  LEFT",
        "red      -      10.00  1.00     0.50  9.00  UA",
        "red      bob     1.00  0.50     0.00  0.50  UA",
        "part     -       2.00  0.00     0.00  2.00  UA",
    ]


def test_an_account_is_shown_with_the_accounts_above_it(node: Node) -> None:
    names = [line.split()[:2] for line in node.run("budget", "UA", "-A", "Part").stdout.splitlines()[1:]]
    assert names == [["red", "-"], ["part", "-"]]
    data = json.loads(node.run("budget", "UA", "-A", "red", "--json").stdout)
    assert data["unit"] == "UA"
    assert [(row["account"], row["user"], row["limit"], row["left"]) for row in data["budgets"]] == [
        ("red", "", 36000.0, 36000.0 - 3600.4),
        ("red", "bob", 3600.0, 3600.0 - 1800.4),
    ]


def test_accounts_without_a_budget_and_unknown_accounts_are_named(node: Node) -> None:
    assert node.run("budget", "UA", "-A", "free").stdout == "Account free has no budget.\n"
    done = node.run("budget", "UA", "-A", "blue")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "budget: there is no account blue\n")
    node.has(SHARES[:2])
    assert node.run("budget", "UA").stdout == "No account has a budget.\n"


def test_the_plugin_gets_a_line_for_each_budget_that_an_account_is_charged_to(node: Node) -> None:
    file = node.folder / "budgets"
    began = int(time.time())
    done = node.run("budget.write", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    at, *lines = file.read_text().splitlines()
    assert began <= int(at) <= time.time()
    assert lines == [
        "red\t\tred\t36000\t3600\t1800",
        "red\tbob\tbob\t3600\t1800\t0",
        "part\t\tpart\t7200\t0\t0",
        "part\t\tred\t36000\t3600\t1800",
    ]
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("answer", ["", "{}", '{"shares": {"shares": [{"name": "red"}]}}'])
def test_an_unreadable_answer_is_an_error_and_leaves_the_file_unchanged(node: Node, answer: str) -> None:
    file = node.folder / "budgets"
    file.write_text("as it was")
    (node.folder / "json").write_text(answer)
    for module, word in (("budget", "UA"), ("budget.write", str(file))):
        done = node.run(module, word)
        assert (done.returncode, done.stdout) == (1, "")
        assert "sshare --json: " in done.stderr
        assert "Traceback" not in done.stderr
    assert file.read_text() == "as it was"


def test_a_controller_that_does_not_answer_is_named(node: Node) -> None:
    (node.folder / "down").touch()
    done = node.run("budget", "UA")
    assert (done.returncode, done.stderr) == (
        1,
        "budget: cannot read the budgets: sshare --all --json: Unable to contact slurm controller\n",
    )


def test_a_name_breaks_neither_a_line_nor_a_terminal(node: Node) -> None:
    node.has([share("root", ""), share("a\tb\n\x1b[2J", "root", minutes=60)])
    file = node.folder / "budgets"
    node.run("budget.write", str(file))
    assert file.read_text().partition("\n")[2] == "a?b??[2J\t\ta?b??[2J\t3600\t0\t0\n"
    assert "\x1b" not in node.run("budget", "UA").stdout
