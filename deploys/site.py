"""The deploy of the whole cluster, stage by stage. docs/concepts.md gives the reasons for the order.

Each step does nothing on nodes to which its role does not apply; an `if` only changes the order. There is one call a
line and no loop over roles, because pyinfra identifies an operation by the line that calls it.
"""

from gpupool.engine.current import cluster_and_node
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
    site_files,
    slurm,
    spaces,
    ssh,
    steps,
    storage,
    tools,
    usage,
    web,
)

cluster, node = cluster_and_node()
is_first_controller = node == cluster.controllers[0]

base.refuse_another_system(cluster, node)
slurm.refuse_to_begin_anew(cluster, node)
slurm.refuse_other_release(cluster, node)
slurm.refuse_another_number(cluster, node)
slurm.refuse_to_end_jobs(cluster, node)
slurm.refuse_to_lose_steps(cluster, node)
slurm.refuse_to_change_alone(cluster, node)
barrier(name="No job would end")
base.apply(cluster, node)
repositories.apply(cluster, node)
repositories.refresh(cluster, node)
slurm.have_user(cluster, node)
base.install(cluster, node)
slurm.have_log_folder(cluster, node)
site_files.apply(cluster, node)
ssh.apply(cluster, node)
people.apply(cluster, node)
directory.apply(cluster, node)

fileserver.disks(cluster, node)
storage.serve(cluster, node)
if storage.serves(cluster, node):
    spaces.apply(cluster, node)
fileserver.export(cluster, node)
barrier(name="Servers are ready")
storage.use(cluster, node)
if not storage.serves(cluster, node):
    spaces.apply(cluster, node)
login.apply(cluster, node)
modules.apply(cluster, node)
munge.create_key(cluster, node)
barrier(name="The munge key is made")
munge.copy_key(cluster, node)
driver.apply(cluster, node)
gpu.apply(cluster, node)
jobs.apply(cluster, node)
health.apply(cluster, node)
docker.apply(cluster, node)
singularity.apply(cluster, node)
images.apply(cluster, node)
elastic.apply(cluster, node)
if is_first_controller:
    slurm.apply(cluster, node)
barrier(name="The configuration is tried")
if not is_first_controller:
    slurm.apply(cluster, node)
database.apply(cluster, node)
accounts.names(cluster, node)
barrier(name="Accounts are known")
controller.refuse_empty_queue(cluster, node)
if is_first_controller:
    controller.apply(cluster, node)
    controller.reconfigure(cluster, node)
barrier(name="The controller runs")
if not is_first_controller:
    controller.apply(cluster, node)
    controller.reconfigure(cluster, node)
controller.drain(cluster, node)
arbiter.apply(cluster, node)
drift.apply(cluster, node)
elastic.install_check(cluster, node)
compute.apply(cluster, node)
steps.apply(cluster, node)
elastic.join(cluster, node)
head.apply(cluster, node)
budgets.apply(cluster, node)
tools.apply(cluster, node)
sessions.apply(cluster, node)
reaper.apply(cluster, node)
reboot.apply(cluster, node)
web.apply(cluster, node)
# after the daemons, because its download may take minutes
conda.apply(cluster, node)

usage.apply(cluster, node)
backup.apply(cluster, node)

# These are last: jobs or data can make them fail, and a failed operation ends the work on its node.
directory.check_password(cluster, node)
directory.homes(cluster, node)
accounts.limits(cluster, node)
if cluster.reservations:
    barrier(name="Accounts have their limits")
controller.reserve(cluster, node)
fileserver.check_pools(cluster, node)
storage.check_mounts(cluster, node)
firewall.apply(cluster, node)
base.try_files(cluster, node)
docker.check_daemon(cluster, node)
base.finish(cluster, node)
driver.check_driver(cluster, node)
ssh.check_settings(cluster, node)
base.check_settings(cluster, node)
elastic.write_stamp(cluster, node)
if elastic.is_used(cluster):
    barrier(name="Nodes are what the inventory says")
elastic.store_stamps(cluster, node)
barrier(name="Nodes are configured")
controller.resume(cluster, node)
