"""A cluster's files with random changes: `gpupool adopt` reads them or says why not. script/fuzz --adopt tries more."""

from pathlib import Path

import fuzz_adopt
import pytest

SEED = 7


def test_adopt_reads_or_refuses_every_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [])
    written = 0
    for number in range(60):
        files, to = tmp_path / f"{number}", tmp_path / f"{number}-to"
        files.mkdir()
        fuzz_adopt.case(SEED, number, files, fuzz_adopt.seeds())
        assert fuzz_adopt.faults(files, to) == [], f"script/fuzz --adopt 60 {SEED}: number {number}"
        written += to.exists()
    assert written > 30


def test_a_failure_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [])
    (tmp_path / "slurm.conf").write_text("NodeName=a\n")
    assert fuzz_adopt.faults(tmp_path, tmp_path / "fine") == []
    monkeypatch.setattr("gpupool.adopt.inventory.add_partitions", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in fuzz_adopt.faults(tmp_path, tmp_path / "to")[0]
