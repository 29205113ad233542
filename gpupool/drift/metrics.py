"""Drift as metrics for the textfile collector of Prometheus' node exporter."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from gpupool import atomic
from gpupool.change import Kind
from gpupool.errors import GpupoolError
from gpupool.programs.drift.difference import Difference

#: All kinds of differences; each kind is written, even with the count 0.
KINDS = tuple(map(str, Kind))


def metrics_text(differences: Sequence[Difference], nodes: Sequence[str], unread: Collection[str], now: float) -> str:
    """Return the metrics of `nodes`, read until `now` (Unix time); `unread` nodes gave no answer and have no counts."""
    counts = Counter((difference.node, difference.kind) for difference in differences)
    lines = ["# HELP gpupool_drift Number of differences from the inventory.", "# TYPE gpupool_drift gauge"]
    for node in nodes:
        if node not in unread:
            lines += [f'gpupool_drift{{node="{node}",kind="{kind}"}} {counts[node, kind]}' for kind in KINDS]
    lines += ["# HELP gpupool_drift_read Whether a node could be read.", "# TYPE gpupool_drift_read gauge"]
    lines += [f'gpupool_drift_read{{node="{node}"}} {int(node not in unread)}' for node in nodes]
    lines += [
        "# HELP gpupool_drift_time_seconds Unix time at which this reading ended.",
        "# TYPE gpupool_drift_time_seconds gauge",
    ]
    lines.append(f"gpupool_drift_time_seconds {now:.0f}")
    return "\n".join(lines) + "\n"


def write(path: Path, metrics: str) -> None:
    """Replace a file with these metrics atomically; the exporter's user can read it."""
    try:
        atomic.replace(path, metrics)
    except OSError as error:
        raise GpupoolError(f"--metrics {path}: {error.strerror}") from None
