"""`gpupool log`: the start of the log, and the commit of an inventory."""

import subprocess
from pathlib import Path

import pytest

from gpupool.cli.log import moment
from gpupool.commit import commit_of
from gpupool.errors import UsageError


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
