"""A check of new files in a plan, by a real shell: the node's folder is not changed."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from real_shell import fact_here

from gpupool.facts.trial import Trial, Tried, fits

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
#: Prints the new file and the old file beside it, and fails if the new text has the word.
CHECK = 'cat "$1$GPUPOOL_NEW" "$1" "${1%/*}/other" | tr "\\n" " "; ! grep -q wrong "$1$GPUPOOL_NEW"'


def tried(folder: Path, text: str) -> Tried:
    conf = str(folder / "a.conf")
    answer = fact_here(Trial, check=["sh", "-c", CHECK, "trial", conf], texts={conf: text})
    assert isinstance(answer, Tried)
    return answer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "a.conf").write_text("old\n")
    (folder / "other").write_text("other\n")
    return folder


def test_a_refusal_has_the_message_and_the_folder_stays_as_it_is(folder: Path) -> None:
    before = {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    result = tried(folder, "wrong\n")
    if not result.tried:
        pytest.skip("no mount namespace here")
    assert result == Tried("wrong old other ")
    assert {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_accepted_files_have_no_message(folder: Path) -> None:
    assert tried(folder, "right\n").refused == ""


def test_without_a_folder_nothing_is_tried(folder: Path) -> None:
    assert tried(folder / "none", "right\n") == Tried(tried=False)


def test_files_of_two_folders_or_of_much_random_text_are_not_tried_in_one_command() -> None:
    assert fits({"/etc/a": "a", "/etc/b": "b" * 1_000_000})
    assert not fits({"/etc/a": "a", "/opt/b": "b"})
    assert not fits({"/etc/a": os.urandom(150_000).hex()})
