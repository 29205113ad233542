"""Inventories with random changes: always an exit code and complaints. script/fuzz tries thousands more."""

from pathlib import Path

import fuzz
import pytest

SEED = 7
EACH = 25


@pytest.mark.parametrize("first", range(0, 200, EACH))
def test_check_accepts_or_refuses_every_inventory(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [])
    for number in range(first, first + EACH):
        folder = tmp_path / str(number)
        folder.mkdir()
        fuzz.case(SEED, number, folder)
        assert fuzz.faults(folder) == [], f"script/fuzz 1 {SEED}: number {number}"


def test_the_same_seed_gives_the_same_inventories(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        fuzz.case(SEED, 3, tmp_path / name)
        texts.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert texts[0] == texts[1]


def test_some_changed_inventories_are_valid(tmp_path: Path) -> None:
    """Otherwise nothing would be compiled."""
    fine = 0
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        fuzz.case(SEED, number, folder)
        fine += fuzz.examine(folder).cluster is not None
    assert fine


def test_a_failure_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [])
    (tmp_path / "x.yml").write_text("schema: 2\n")
    assert fuzz.faults(tmp_path) == []
    fine = fuzz.INVENTORIES[0]
    monkeypatch.setattr(fuzz, "files_for", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in fuzz.faults(fine)[0]
