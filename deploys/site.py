"""The whole cluster. The order is Slurm's: each step needs what stands above it (docs/concepts.md says why)."""

from gpupool.engine.here import here
from gpupool.roles import accounts, base, compute, controller, database, gpu, head, munge, people, slurm, storage
from gpupool.system.packages import holds_configuration
from gpupool.system.storage import served_by

cluster, node = here()

# One call a line, never a loop over roles: pyinfra tells the steps of different nodes apart by their lines.
base.apply(cluster, node)
people.apply(cluster, node)
if served_by(cluster, node):
    storage.serve(cluster, node)
storage.use(cluster, node)
if node == cluster.controllers[0]:
    munge.make(cluster, node)
elif node.runs_slurm:
    munge.share(cluster, node)
if node.gpus:
    gpu.apply(cluster, node)
if holds_configuration(cluster, node):
    slurm.apply(cluster, node)
if node.has("database"):
    database.apply(cluster, node)
    accounts.names(cluster, node)
if node.has("controller", "backup-controller"):
    controller.apply(cluster, node)
if node.has("database"):
    accounts.limits(cluster, node)
if node.has("compute"):
    compute.apply(cluster, node)
if node.has("head"):
    head.apply(cluster, node)
