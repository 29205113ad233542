"""Drift on a controller: files compared with the record of the last apply, and metrics."""

import hashlib
from pathlib import Path

from gpupool.node import files
from gpupool.programs.drift.__main__ import metrics
from gpupool.programs.drift.record import changed


def test_files_and_links_that_differ_from_the_record_of_the_last_apply(tmp_path: Path) -> None:
    lines = []
    for name in ("same", "edited", "gone", "folder"):
        (tmp_path / name).write_text(name)
        lines.append(f"{tmp_path / name}\t{hashlib.sha256(name.encode()).hexdigest()}")
    for name in ("kept", "moved", "dangling"):
        (tmp_path / name).symlink_to("same" if name != "dangling" else "nowhere")
        lines.append(f"{tmp_path / name}\t-> {(tmp_path / name).readlink()}")
    lines.append(f"{tmp_path / 'of others'}\treplaced")
    (tmp_path / "of others").write_text("any text")
    record = tmp_path / "record"
    record.write_text("\n".join(lines) + "\n")
    assert list(changed(record)) == []

    (tmp_path / "edited").write_text("by hand")
    (tmp_path / "gone").unlink()
    (tmp_path / "folder").unlink()
    (tmp_path / "folder").mkdir()
    (tmp_path / "moved").unlink()
    (tmp_path / "moved").symlink_to("edited")
    assert {(kind, Path(path).name, how) for kind, path, how in changed(record)} == {
        ("file", "edited", "changed since the last apply"),
        ("file", "gone", "absent"),
        ("file", "folder", "changed since the last apply"),
        ("link", "moved", "another target"),
    }
    assert list(changed(tmp_path / "none")) == []


def test_without_an_answer_of_slurmctld_its_differences_have_no_count() -> None:
    text = metrics("ctl", ["n1", "n2"], [("ctl", "file"), ("ctl", "slurm"), ("n2", "state")], True, 1.9e9)
    rows = [line for line in text.splitlines() if line.startswith("gpupool_controller_drift{")]
    assert rows == [
        f'gpupool_controller_drift{{node="{node}",kind="{kind}"}} {count}'
        for node, kind, count in (
            ("ctl", "file", 1), ("ctl", "link", 0), ("ctl", "slurm", 1), ("ctl", "state", 0),
            ("n1", "slurm", 0), ("n1", "state", 0), ("n2", "slurm", 0), ("n2", "state", 1),
        )
    ]  # fmt: skip
    assert text.endswith("gpupool_controller_drift_time_seconds 1900000000\n")
    silent = metrics("ctl", ["n1"], [("ctl", "file")], False, 1.9e9)
    assert "gpupool_controller_drift_read 0" in silent
    assert "slurm" not in silent.replace("slurmctld", "")
    assert 'kind="file"} 1' in silent


def test_a_file_of_metrics_is_replaced_whole_and_no_link_in_its_folder_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "x.prom"
    other = tmp_path / "other"
    other.write_text("stays")
    file.symlink_to(other)
    files.replace(file, "new\n")
    assert (file.read_text(), file.is_symlink(), other.read_text()) == ("new\n", False, "stays")
    assert file.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "x.prom"]
