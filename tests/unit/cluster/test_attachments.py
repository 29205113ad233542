"""Files of an inventory that are installed on nodes unchanged."""

import shutil
from pathlib import Path

import inventories
import pytest

from gpupool.cluster.load import examine, load


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    for name in ("examples", "wiki"):
        (tmp_path / name).mkdir()
    shutil.copy(inventories.SMALL / "inventory.yml", tmp_path)
    return tmp_path


def test_an_inventory_has_the_files_of_its_folders(inventory: Path) -> None:
    (inventory / "examples" / "job").write_text("#!/bin/bash\n")
    (inventory / "wiki" / "page.html").write_text("<p>ü</p>\n")
    assert load(inventory).attached == {"examples/job": "#!/bin/bash\n", "wiki/page.html": "<p>ü</p>\n"}
    assert load(inventory / "inventory.yml").attached == {}


def test_a_file_that_cannot_be_installed_is_named(inventory: Path) -> None:
    (inventory / "wiki" / "a b.html").write_text("")
    (inventory / "wiki" / "logo.png").write_bytes(b"\x89PNG")
    (inventory / "wiki" / "large.txt").write_text("x" * 1_000_001)
    (inventory / "wiki" / "more").mkdir()
    complaints = [str(complaint).removeprefix(f"{inventory}/") for complaint in examine(inventory).open]
    assert complaints == [
        "wiki/a b.html:1: error: cannot be read: its name has other characters than letters, digits, `_`, `.` and `-`",
        "wiki/large.txt:1: error: cannot be read: too large, the maximum is 1 MB",
        "wiki/logo.png:1: error: cannot be read: not UTF-8 text, invalid byte at offset 0",
        "wiki/more:1: error: cannot be read: not a file",
    ]
