"""The users' command `budget`, and the service that writes the file for the submit plugin."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm.budgets import FILE, FOLDER, tells_budgets
from gpupool.compile.system import manual
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

COMMAND = "/usr/local/bin/budget"
SERVICE, TIMER = f"{UNITS}/gpupool-budgets.service", f"{UNITS}/gpupool-budgets.timer"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program on heads and controllers, and on controllers a timer that runs it every minute."""
    if not tells_budgets(cluster, node):
        return
    yield from program("budget")
    yield File(COMMAND, fill("budget", home=HOME, unit=cluster.scheduler.billing_unit), mode="0755")
    yield File(manual.BUDGET.path, manual.roff(manual.BUDGET))
    if node.has("controller", "backup-controller"):
        yield File(SERVICE, fill("budgets.service", cluster=cluster, home=HOME, file=FILE, folder=FOLDER))
        yield File(TIMER, fill("budgets.timer"))
