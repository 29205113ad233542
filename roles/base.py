"""The base of every node: its name, the addresses of all nodes, the time zone, the clock and packages."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.managed import ROLES
from gpupool.compile import files_for, files_of, layered_for, links_for
from gpupool.compile.slurm.elastic import STAMP
from gpupool.compile.system import clock
from gpupool.compile.system.driver import driver_for
from gpupool.compile.system.firewall import TABLE
from gpupool.compile.system.names import links
from gpupool.compile.system.packages import base_for, kept_for, packages_for, slurm_for, versions_for
from gpupool.compile.system.repositories import COMPONENTS
from gpupool.facts.host_keys import KNOWN
from gpupool.operations import daemon_trials, files, masters, names, overrides, packages, service, slurm, system
from gpupool.roles import everywhere, where

applies = everywhere
#: The roles that need no known distribution: they put files into /etc/slurm and ask Slurm's commands.
ANYWHERE = ("slurm", "accounts")


@where(everywhere, *(role for role in ROLES if role not in ANYWHERE))
def refuse_another_system(cluster: Cluster, node: Node) -> None:
    """Refuse a node with another distribution or release than the inventory's, before any change."""
    own = node.system
    system.refuse_another(name="System", os_release=list(own.os_release), title=str(own))


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Remove files that left the inventory, then set names, as all later steps may need to find another node."""
    if node.manages_all:
        # slurmctld still reads old files in /etc/slurm: they are removed after it has accepted the new configuration
        files.removed(name="Removed files", wanted=paths(cluster, node), keep_below="/etc/slurm")
    own = files_of(cluster, node, "base")
    if node != cluster.controllers[0]:
        slurm.costs_no_jobs(name="Nodes that jobs are on", first=cluster.controllers[0].name, files=own)
    files.put(name="Names", files=own)
    names.host_name(name="Host name", hostname=node.name)


@where(everywhere)
def install(cluster: Cluster, node: Node) -> None:
    """Install packages after the repositories, set the time zone and start the time service.

    The packages of docker and singularity are installed by those roles, which fail alone.
    """
    packages.installed(
        name="Packages",
        packages=list(base_for(cluster, node)),
        versions=versions_for(cluster, node),
        slurm=slurm_for(cluster, node),
        kept=kept_for(cluster, node),
        settled=not files_of(cluster, node, "repositories"),
    )
    files.put(name="Time zone", links=links(cluster))
    if not cluster.drivers.contained(node.name):
        # a container uses the clock of its host
        service.running(name="Time", unit=clock.unit(cluster, node))


@where(everywhere)
def try_files(cluster: Cluster, node: Node) -> None:
    """In a plan, have daemons try the files of all roles before this step; an apply has each tried before it is put."""
    daemon_trials.tried(name="Trial of files", packages=list(packages_for(cluster, node)))


@where(everywhere)
def check_settings(cluster: Cluster, node: Node) -> None:
    """Fail if another file or program overrides settings of the inventory; late, because an admin mends it."""
    overrides.refused(name="Settings in force", paths=layered_for(cluster, node))
    masters.refused(name="Other programs", table=TABLE, networks=list(cluster.networks))


def is_managed_wholly(cluster: Cluster, node: Node) -> bool:
    """On nodes with all roles managed: elsewhere a file that left the inventory may be of a role that is left out."""
    return node.manages_all


@where(is_managed_wholly)
def finish(cluster: Cluster, node: Node) -> None:
    """Fail if files that left the inventory were changed by hand; last, to delay no other step."""
    files.removed_at_end(name="Files left behind", wanted=paths(cluster, node))


def paths(cluster: Cluster, node: Node) -> list[str]:
    """Return the paths of all files and links that roles install on a node."""
    known_there = [KNOWN, *([COMPONENTS] if driver_for(cluster, node) else []), *([STAMP] if node.elastic else [])]
    return [*(file.path for file in files_for(cluster, node)), *links_for(cluster, node), *known_there]
