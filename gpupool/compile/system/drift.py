"""Metrics of a controller about differences from the last apply, for Prometheus' node exporter."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.conf import SLURM_CONF
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

#: Debian's prometheus-node-exporter reads metrics here. If the directory does not exist, nothing is written.
EXPORTER = "/var/lib/prometheus/node-exporter"
METRICS = f"{EXPORTER}/gpupool_controller.prom"
SERVICE, TIMER = f"{UNITS}/gpupool-drift.service", f"{UNITS}/gpupool-drift.timer"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program and its timer, on controllers."""
    if node.has("controller", "backup-controller"):
        yield from program("drift")
        values = {"node": node.name, "conf": cluster.slurm.file(SLURM_CONF), "file": METRICS, "folder": EXPORTER}
        yield File(SERVICE, fill("drift.service", cluster=cluster, home=HOME, **values))
        yield File(TIMER, fill("drift.timer"))
