"""Warnings that an inventory accepts: counted, not printed; an acceptance without a warning is one itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY, copied

from gpupool.cluster.checks import CHECKS, code
from gpupool.cluster.load import examine

WARNED = ("    scratch: {server: files, ", "    scratch: {squash: none, server: files, ")
#: a backup on an export that the site mounts itself
WITH_BACKUP = (
    ('  #backup: {to: /srv/backup/slurm, at: "02:30", keep: 14}', "  backup: {to: /weka/slurm}"),
    ("  exports:\n", "  exports:\n    weka: {at: /weka, fs: weka, mounted_by: site, mount_on: control}\n"),
)
WARNING = "squash-is-intended"
AT = "storage.exports.scratch"


@pytest.fixture
def site(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies the example with one warning, and adds text to it."""

    def with_text(text: str) -> Path:
        copied(INVENTORY / "example", tmp_path, WARNED, *WITH_BACKUP)
        (tmp_path / "accepted.yml").write_text(text or "# none\n")
        return tmp_path

    return with_text


def _accept(warning: str = WARNING, at: str | None = AT) -> str:
    place = f"at: {json.dumps(at)}, " if at else ""
    return f"accepted_warnings: [{{warning: {warning}, {place}reason: root writes backups there}}]\n"


def test_a_warning_ends_with_its_code(site: Callable[[str], Path], gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", site(""))
    assert done.out.splitlines()[0] == "no errors, 1 warning"
    assert done.out.splitlines()[1].endswith(f" [{WARNING}]")


@pytest.mark.parametrize("at", [AT, f"{AT}.squash", "storage", None])
def test_an_accepted_warning_is_counted_and_not_printed(
    at: str | None, site: Callable[[str], Path], gpupool: Callable[..., Any]
) -> None:
    inventory = site(_accept(at=at))
    done = gpupool("check", inventory)
    assert (done.code, done.out.splitlines()[0]) == (0, "no errors, 0 warnings, 1 accepted")
    assert WARNING not in done.out
    (complaint,) = json.loads(gpupool("check", inventory, "--json").out)["complaints"]
    assert (complaint["code"], complaint["accepted"]) == (WARNING, "root writes backups there")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_accept(at="storage.exports.scr"), f"at storage.exports.scr (its warnings are at {AT}.squash) ["),
        (_accept("squash-is-intnded"), f"(did you mean {WARNING}?) ["),
        (_accept("spaces-are-the-labs", None), "there is no warning 'spaces-are-the-labs' (remove it) ["),
    ],
)
def test_an_acceptance_without_a_warning_is_a_warning(
    text: str, says: str, site: Callable[[str], Path], gpupool: Callable[..., Any]
) -> None:
    done = gpupool("check", site(text))
    assert done.out.splitlines()[0] == "no errors, 2 warnings"
    (line,) = (line for line in done.out.splitlines() if "accepted_warnings[0]" in line)
    assert line.endswith(" [accepted-warnings-exist]")
    assert says in line


def test_an_error_cannot_be_accepted(site: Callable[[str], Path]) -> None:
    inventory = site(_accept("users-can-log-in", None))
    access = inventory / "access.yml"
    access.write_text(access.read_text().replace("  keys: homes\n", ""))
    assert [located.complaint.code for located in examine(inventory).errors] == ["users-can-log-in"]


def test_the_place_of_a_warning_has_names_not_numbers(site: Callable[[str], Path], gpupool: Callable[..., Any]) -> None:
    """A user who is added before does not move the acceptance to another user."""
    inventory = site(_accept("users-may-use-their-partitions", "users[u-robotics1]"))
    labs = inventory / "labs.yml"
    text = labs.read_text().replace("    #partitions: [short, overcap]\n", "    partitions: [short]\n")
    labs.write_text(text.replace("users:\n", "users:\n  - {name: u-new1, uid: 20003, account: robotics-lab}\n"))
    assert gpupool("check", inventory).out.splitlines()[0] == "no errors, 1 warning, 1 accepted"


def test_each_check_has_its_own_code() -> None:
    codes = [code(check) for check in CHECKS]
    assert len(set(codes)) == len(codes)
