"""No file of the repository holds a key or a password."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
MARKS = ("PRIVATE " + "KEY-----", "StoragePass" + "=", "identified " + "by '")


def test_no_secret_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    files = [ROOT / name for name in filter(None, listed.split("\0")) if (ROOT / name).is_file()]
    assert len(files) > 1000
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace") for path in files}
    assert {name: mark for name, text in texts.items() for mark in MARKS if mark in text} == {}
