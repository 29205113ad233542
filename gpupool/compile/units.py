"""The systemd units that run on a node once it matches the inventory."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_for
from gpupool.compile.system import clock
from gpupool.compile.system.daemons import MARIADB_CONF
from gpupool.compile.system.directory import SETTINGS as SSSD_CONF
from gpupool.compile.system.driver import DEVICES_UNIT, FABRIC, driver_for, has_nvswitch
from gpupool.compile.system.exports import NFS_CONF
from gpupool.compile.system.web import CONF as NGINX_CONF
from gpupool.unix import UNITS

_DROP_IN = ".service.d/gpupool.conf"
#: The daemon that needs a file.
_BY_FILE = {MARIADB_CONF: "mariadb", NFS_CONF: "nfs-server", NGINX_CONF: "nginx", SSSD_CONF: "sssd"}


def units(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the services, sockets and timers that have to be active on a node, sorted."""
    return tuple(sorted(_units(cluster, node)))


def timed(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the services that timers and sockets of a node start, sorted; they may be inactive, but not failed."""
    starters = [unit for unit in units(cluster, node) if not unit.endswith(".service")]
    return tuple(sorted({f"{unit.rpartition('.')[0]}.service" for unit in starters}))


def _units(cluster: Cluster, node: Node) -> Iterator[str]:
    if node.manages("ssh"):
        yield f"{node.system.units['ssh']}.service"
    if node.manages("base") and not cluster.drivers.contained(node.name):
        # a container uses the clock of its host
        yield f"{clock.unit(cluster, node)}.service"
    if has_nvswitch(node) and driver_for(cluster, node) and node.manages("driver"):
        yield FABRIC
    paths = [file.path for file in files_for(cluster, node)]
    yield from (f"{_BY_FILE[path]}.service" for path in paths if path in _BY_FILE)
    own = {path.rpartition("/")[2] for path in paths if path.startswith(f"{UNITS}/") and path != DEVICES_UNIT}
    for name in own:
        stem, _, kind = name.rpartition(".")
        if kind in ("timer", "socket") or (kind == "service" and not {f"{stem}.timer", f"{stem}.socket"} & own):
            yield name
    for path in paths:
        if path.startswith(f"{UNITS}/") and path.endswith(_DROP_IN):
            yield f"{path.removeprefix(f'{UNITS}/').removesuffix(_DROP_IN)}.service"
