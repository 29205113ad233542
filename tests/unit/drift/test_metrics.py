"""Drift in the format of the text-file collector of Prometheus' node exporter."""

import re
from pathlib import Path

import pytest

from gpupool.drift.metrics import KINDS, metrics_text, write
from gpupool.errors import GpupoolError
from gpupool.programs.drift.difference import Difference

FILE = Difference("n1", "file", "/etc/x", "a", "b", "-", "")


def test_each_node_has_a_count_of_each_kind_and_a_failed_node_has_none() -> None:
    metrics = metrics_text([FILE, FILE], ["n1", "n2"], {"n2": "no answer"}, 1900000000.4)
    assert 'gpupool_drift{node="n1",kind="file"} 2' in metrics
    assert len(re.findall(r'^gpupool_drift\{node="n1",kind="\w+"\} 0$', metrics, flags=re.MULTILINE)) == len(KINDS) - 1
    assert 'gpupool_drift{node="n2"' not in metrics
    assert 'gpupool_drift_read{node="n1"} 1\ngpupool_drift_read{node="n2"} 0\n' in metrics
    assert metrics.endswith("gpupool_drift_time_seconds 1900000000\n")


def test_a_file_is_replaced_whole_or_the_reason_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "gpupool.prom"
    for content in ("old\n", "new\n"):
        write(path, content)
    assert path.read_text() == "new\n"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(GpupoolError, match="No such file"):
        write(tmp_path / "nowhere" / "x", "new\n")
