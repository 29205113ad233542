"""Check the settings of Docker."""

import ipaddress
from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import export_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.cluster.schema.containers import CONTAINER_NETWORK, Docker

_DOCKER: Path = ("software", "docker")
_SERVERS = {"controller", "backup-controller", "database"}


def _enabled(site: Site) -> Docker | None:
    docker = site.inventory.software.docker
    return docker if docker and docker.enabled else None


def ensure_docker_finds_the_gpus(site: Site) -> Iterator[Complaint]:
    """In a job with ConstrainDevices, CUDA_VISIBLE_DEVICES counts from 0, so only UUIDs identify GPUs to Docker."""
    docker, gpu = _enabled(site), site.inventory.gpu
    if docker is None:
        return
    if docker.gpus == "cuda_visible_devices" and gpu.constrain_devices:
        message = "cuda_visible_devices only works with gpu.constrain_devices: false"
        yield Complaint((*_DOCKER, "gpus"), message, "or use nv_gpu")
    if docker.gpus == "nv_gpu" and "NV_GPU" not in gpu.device_env:
        yield Complaint((*_DOCKER, "gpus"), "nv_gpu only works if gpu.device_env contains NV_GPU")


def ensure_containers_have_separate_addresses(site: Site) -> Iterator[Complaint]:
    """Containers and nodes have different addresses; else the host of a container cannot reach some of the nodes."""
    docker = _enabled(site)
    if docker is None:
        return
    path = (*_DOCKER, "address_pool")
    try:
        pool = ipaddress.IPv4Network(docker.address_pool)
    except ValueError as error:
        yield Complaint(path, f"not an IPv4 network: {error}", "write 172.29.0.0/16")
        return
    if pool.prefixlen > CONTAINER_NETWORK:
        yield Complaint(path, f"{pool} has no room for a network of 256 addresses", f"at least a /{CONTAINER_NETWORK}")
    testbed = site.inventory.testbed
    for key, text in (
        ("cluster.network", site.inventory.cluster.network),
        *((f"cluster.networks.{name}", text) for name, text in site.inventory.cluster.networks.items()),
        ("testbed.network", testbed.network if testbed else None),
    ):
        try:
            network = ipaddress.IPv4Network(text) if text else None
        except ValueError:
            continue  # another check complains about it
        if network and pool.overlaps(network):
            yield Complaint(path, f"{pool} overlaps {key}, {network}", "choose another private network")


def ensure_docker_has_a_disk(site: Site) -> Iterator[Complaint]:
    """Docker's data is on a local disk, because overlayfs cannot use NFS, and not in a directory of the system."""
    docker = _enabled(site)
    if docker is None:
        return
    path = (*_DOCKER, "data_root")
    if export := export_of(site, docker.data_root):
        message = f"{docker.data_root} is on the export {export}: Docker needs a disk of the node itself"
        yield Complaint(path, message, "choose a directory of storage.local, or leave it out")
    elif is_the_systems(docker.data_root, whole=True):
        yield Complaint(path, f"{docker.data_root} belongs to the operating system", "choose another directory")


def ensure_users_of_docker_are_not_on_controllers(site: Site) -> Iterator[Complaint]:
    """Members of docker's group can become root: on these nodes they could write Slurm's state and accounting."""
    docker = _enabled(site)
    if docker is None or docker.members == ():
        return
    servers = {node.name for node in site.node_table.nodes if _SERVERS & set(node.entry.roles)}
    for name in sorted(servers & site.nodes_of(docker.where)):
        message = f"users of docker on {name} can become root and write Slurm's state or accounting"
        yield Complaint(
            (*_DOCKER, "where"),
            message,
            "choose nodes without the roles controller, backup-controller and database",
            "warning",
        )


def ensure_members_of_docker_are_known(site: Site) -> Iterator[Complaint]:
    """Each member of `docker` is a user or an account of the inventory."""
    docker = _enabled(site)
    users = {user.name for user in site.inventory.users}
    for index, name in enumerate(docker.members if docker and docker.members != "all" else ()):
        if name not in users | site.account_names:
            yield Complaint((*_DOCKER, "members", index), f"there is no user and no account {name!r}")


def ensure_docker_gets_its_toolkit(site: Site) -> Iterator[Complaint]:
    """The repository of the toolkit is in the inventory."""
    docker = _enabled(site)
    if docker and docker.toolkit and docker.toolkit not in site.inventory.software.repositories:
        yield Complaint((*_DOCKER, "toolkit"), f"there is no repository {docker.toolkit!r} in software.repositories")


def ensure_docker_is_purged_by_a_timer(site: Site) -> Iterator[Complaint]:
    """`docker.purge` sets what is removed, a timer sets when and where: neither has an effect without the other."""
    docker = _enabled(site)
    timers = [(index, timer) for index, timer in enumerate(site.inventory.timers) if timer.job == "docker-purge"]
    if docker and docker.purge and not timers:
        hint = "add it to timers: {job: docker-purge, every: 1h, where: ...}"
        yield Complaint((*_DOCKER, "purge"), "has no effect without a timer docker-purge", hint)
    for index, timer in timers:
        path: Path = ("timers", index)
        if docker is None or docker.purge is None:
            hint = "set software.docker.purge: {containers_older_than: 1d}"
            yield Complaint(path, "docker-purge removes nothing without software.docker.purge", hint)
        elif timer.every is None:
            yield Complaint(path, "docker-purge needs an interval", "set every: 1h")
        elif without := sorted(site.nodes_of(timer.where) - site.nodes_of(docker.where)):
            message = f"{without[0]} has no docker"
            yield Complaint((*path, "where"), message, "use the nodes of software.docker.where", "warning")
