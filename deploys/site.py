"""The whole cluster, stage by stage; the order is Slurm's own (docs/concepts.md says why).

One call a line, never a loop over roles: pyinfra knows an operation by the line that calls it.
"""

from gpupool.compile.slurm import conf
from gpupool.compile.slurm.budgets import tells_budgets
from gpupool.compile.slurm.elastic import sleepers
from gpupool.compile.system import backup as backups
from gpupool.compile.system import firewall as refusals
from gpupool.compile.system import reaper as strays
from gpupool.compile.system import reboot as rebooting
from gpupool.compile.system import tools as programs
from gpupool.compile.system.conda import installer_for
from gpupool.compile.system.docker import docker_on
from gpupool.compile.system.exports import exports_for
from gpupool.compile.system.images import images_for
from gpupool.compile.system.modules import modules_for
from gpupool.compile.system.singularity import singularity_on
from gpupool.compile.system.spaces import members_homes
from gpupool.compile.system.storage import served_by
from gpupool.compile.system.web import has_wiki
from gpupool.compile.system.zfs import pools_for
from gpupool.engine.here import here
from gpupool.operations.together import barrier
from gpupool.roles import (
    accounts,
    arbiter,
    backup,
    base,
    budgets,
    compute,
    conda,
    controller,
    database,
    directory,
    docker,
    drift,
    driver,
    elastic,
    fileserver,
    firewall,
    gpu,
    head,
    health,
    images,
    jobs,
    login,
    modules,
    munge,
    people,
    reaper,
    reboot,
    repositories,
    sessions,
    singularity,
    slurm,
    spaces,
    ssh,
    storage,
    tools,
    usage,
    web,
)

cluster, node = here()

if node.runs_slurm:
    slurm.version(cluster, node)
if conf.has_files(cluster, node):
    slurm.keep(cluster, node)
barrier(name="No job would end")
base.apply(cluster, node)
repositories.apply(cluster, node)
base.install(cluster, node)
ssh.apply(cluster, node)
people.apply(cluster, node)
if cluster.directory:
    directory.apply(cluster, node)

if pools_for(cluster, node):
    fileserver.disks(cluster, node)
if served_by(cluster, node):
    storage.serve(cluster, node)
    spaces.apply(cluster, node)
if exports_for(cluster, node) or node.has("fileserver"):
    fileserver.give(cluster, node)
barrier(name="Servers are ready")
storage.use(cluster, node)
if not served_by(cluster, node):
    spaces.apply(cluster, node)
login.apply(cluster, node)
if modules_for(cluster, node) is not None:
    modules.apply(cluster, node)
if node == cluster.controllers[0]:
    munge.make(cluster, node)
barrier(name="The munge key is made")
if node.runs_slurm and node != cluster.controllers[0]:
    munge.share(cluster, node)
if node.gpus:
    driver.apply(cluster, node)
    gpu.apply(cluster, node)
if node.has("compute"):
    jobs.apply(cluster, node)
    health.apply(cluster, node)
if docker_on(cluster, node):
    docker.apply(cluster, node)
if singularity_on(cluster, node):
    singularity.apply(cluster, node)
if images_for(cluster, node):
    images.apply(cluster, node)
if sleepers(cluster) and node.has("controller", "backup-controller"):
    elastic.apply(cluster, node)
if node == cluster.controllers[0]:
    slurm.apply(cluster, node)
barrier(name="The configuration is tried")
if conf.has_files(cluster, node) and node != cluster.controllers[0]:
    slurm.apply(cluster, node)
if node.has("database"):
    database.apply(cluster, node)
    accounts.names(cluster, node)
barrier(name="Accounts are known")
if node.has("controller"):
    controller.apply(cluster, node)
barrier(name="The controller runs")
if node.has("backup-controller"):
    controller.apply(cluster, node)
if node.has("controller", "backup-controller"):
    arbiter.apply(cluster, node)
    drift.apply(cluster, node)
if node.elastic:
    elastic.check(cluster, node)
if node.has("compute"):
    compute.apply(cluster, node)
if node.elastic:
    elastic.join(cluster, node)
if node.has("head"):
    head.apply(cluster, node)
if tells_budgets(cluster, node):
    budgets.apply(cluster, node)
if any(programs.files(cluster, node)):
    tools.apply(cluster, node)
sessions.apply(cluster, node)
if strays.kinds(cluster, node):
    reaper.apply(cluster, node)
if rebooting.guards(cluster, node):
    reboot.apply(cluster, node)
if node.has("web") and has_wiki(cluster, node):
    web.apply(cluster, node)
# its download may fail: no daemon waits for it
if installer_for(cluster, node):
    conda.apply(cluster, node)
usage.apply(cluster, node)
if backups.kinds(cluster, node):
    backup.apply(cluster, node)
# last: what has to stay because of jobs or data fails here, when all else is done
if cluster.directory:
    directory.look(cluster, node)
if members_homes(cluster, node):
    directory.homes(cluster, node)
if node.has("database"):
    accounts.limits(cluster, node)
if cluster.reservations:
    barrier(name="Accounts have their limits")
if node == cluster.controllers[0]:
    controller.reserve(cluster, node)
if pools_for(cluster, node):
    fileserver.keep(cluster, node)
storage.look(cluster, node)
if refusals.rules(cluster, node).limited:
    firewall.apply(cluster, node)
if docker_on(cluster, node):
    docker.look(cluster, node)
base.finish(cluster, node)
if node.gpus:
    driver.look(cluster, node)
if node.elastic:
    elastic.finish(cluster, node)
if sleepers(cluster):
    barrier(name="Nodes are what the inventory says")
if sleepers(cluster) and node == cluster.controllers[0]:
    elastic.tell(cluster, node)
