"""The log of applies: runs of all nodes as one list, what became of each, and which commit an inventory is."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpupool.cli.log import moment
from gpupool.commit import commit_of
from gpupool.errors import UsageError
from gpupool.facts.applies import Applied, AppliedState
from gpupool.run.log import merged

RUN = Applied(
    run="a", begun="2030-01-31T08:12:00Z", who="ann@desk", command="apply", version="1", cluster="small",
    commit="4261f67df4", uncommitted=False, ended="2030-01-31T08:13:00Z", count=1, changes=("Names | /etc/hosts",),
)  # fmt: skip


def test_a_run_on_several_nodes_is_one_and_the_oldest_is_first() -> None:
    later = replace(RUN, begun="2030-01-31T08:12:30Z")
    old = replace(RUN, run="b", begun="2030-01-30T23:00:00Z")
    runs = merged({"n1": AppliedState((old, later)), "n2": AppliedState((RUN,))})
    assert [(run.first.run, run.first.begun, list(run.nodes)) for run in runs] == [
        ("b", "2030-01-30T23:00:00Z", ["n1"]),
        ("a", "2030-01-31T08:12:00Z", ["n1", "n2"]),
    ]


@pytest.mark.parametrize(
    ("n2", "message"),
    [
        ({}, ""),
        ({"failure": "Packages: no such package"}, "failed: n2"),
        ({"ended": "", "count": 0, "changes": ()}, "not ended: n2"),
        ({"ended": "", "under_way": True}, "under way"),
    ],
)
def test_what_became_of_a_run_is_said(n2: dict[str, object], message: str) -> None:
    (run,) = merged({"n1": AppliedState((RUN,)), "n2": AppliedState((replace(RUN, **n2),))})
    assert run.outcome == message


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("2030-01-31", "2030-01-31T00:00:00Z"),
        ("2030-01-31T08:12", "2030-01-31T08:12:00Z"),
        ("2030-01-31T08:12:00+02:00", "2030-01-31T06:12:00Z"),
    ],
)
def test_since_is_a_moment_in_utc(text: str, then: str) -> None:
    assert moment(text) == then


def test_since_is_a_duration_or_refused() -> None:
    assert moment("2d") < moment("12h") < moment("1s")
    with pytest.raises(UsageError, match="yesterday"):
        moment("yesterday")


def git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    return subprocess.run(
        ["git", "-C", str(folder), *options, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_an_inventory_in_no_repository_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) == ("", False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) == ("", False)


def test_the_commit_is_that_of_its_folder_and_changes_elsewhere_do_not_count(tmp_path: Path) -> None:
    inventory = tmp_path / "site"
    inventory.mkdir()
    (inventory / "nodes.yml").write_text("nodes: []\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "notes").write_text("not of the inventory\n")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(inventory) == (commit, False)
    (inventory / "labs.yml").write_text("accounts: []\n")
    assert commit_of(inventory) == (commit, True)
