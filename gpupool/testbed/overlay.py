"""The Cluster of a testbed: other drivers and a smaller scale, but the same names, partitions and QoS.

Nothing here runs docker: a stand-in is an ordinary Cluster, compiled and applied by the same code.
"""

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from gpupool.cluster.accounts import Account, User
from gpupool.cluster.gpu_devices import minors
from gpupool.cluster.model import Cluster, Drivers
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.cluster.schema.machines import Cloud
from gpupool.cluster.schema.scheduling import LabShare
from gpupool.cluster.schema.software import Software
from gpupool.cluster.schema.testbed import Testbed
from gpupool.cluster.units import format_size
from gpupool.compile.containers import docker_on, singularity_on
from gpupool.compile.slurm.elastic import sleepers
from gpupool.compile.system import singularity
from gpupool.compile.system.devices import stand_in_files
from gpupool.compile.system.packages import packages_for
from gpupool.distributions.tables import Distribution
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed.spec import Container, Spec, Volume
from gpupool.testbed.vm import choice as vm_choice

OPEN_FILES = 4096  # a container cannot exceed its host's limit, and logins fail with a higher one
CLOUD_CREDENTIALS = "/usr/lib/python3/dist-packages/testbed_cloud.json"  # empty; recipe_cloud.sh creates it
SHARED = "/testbed"  # the parent of the directories that nodes share
_IN_A_COPY = (
    "in a copy of the inventory, set another software.distribution, and none of hardware and nodes "
    "(`gpupool rehearse` tries the rules on Slurm alone, whatever the distribution)"
)


def stand_in(
    cluster: Cluster,
    *,
    cgroup: Literal["v1", "v2"],
    network: str | None = None,
    keys: tuple[str, ...] = (),
    machines: Collection[str] = (),
) -> Cluster:
    """Return the Cluster of the nodes that a testbed starts.

    Caps shrink with the pool, so that jobs can reach them and their sum still fits; `network` moves the addresses to
    another network of the same size; `keys` are public SSH keys that every user gets; `machines` are the nodes that
    are virtual machines and not containers.
    """
    overlay = cluster.testbed
    if overlay is None:
        raise TestbedError(f"the inventory of {cluster.name} has no testbed: set its nodes (testbed: nodes:)")
    nodes = _moved(cluster, network or overlay.network)
    if any(node.name in machines for node in cluster.controllers):
        # a virtual machine cannot reach docker, so its slurmctld cannot switch nodes
        nodes = {name: replace(node, elastic=False) for name, node in nodes.items()}
    vm_choice.ensure_fit(cluster, nodes, machines, cgroup)
    true_cpus = vm_choice.true_cpus(nodes, machines)
    if true_cpus:
        nodes = {name: _with_its_own_disk(node) for name, node in nodes.items()}
    emulated = all(node.name in machines for node in nodes.values() if node.has("compute"))
    pool = sum(node.all_gpu_count for node in nodes.values() if node.has("compute"))
    parameters = {**_recount(cluster), **cluster.slurm.parameters}
    quicker = {"controller_timeout": overlay.controller_timeout, "parameters": parameters}
    # a testbed reaches no repository of the site: images have the distribution's packages, or SchedMD's made from them
    own = cluster.slurm if cluster.slurm.packages == "schedmd" else cluster.slurm.of_packages()
    slurm = own.model_copy(update={**quicker, "repository": None})
    most = cluster.policies.nofile
    policies = cluster.policies.model_copy(update={"nofile": min(most, OPEN_FILES) if most else None})
    preemption = cluster.preemption.model_copy(update={"requeue_delay": overlay.requeue_delay})
    return replace(
        cluster,
        entry=cluster.entry.model_copy(
            update={"network": network or overlay.network or cluster.entry.network, "networks": {}}
        ),
        nodes=nodes,
        accounts=_scaled(cluster, pool),
        users={name: _let_in(user, keys) for name, user in cluster.users.items()},
        partitions={
            name: replace(
                partition,
                nodes=tuple(node for node in partition.nodes if node in nodes),
                grace=min(partition.grace, overlay.grace),
            )
            for name, partition in cluster.partitions.items()
            if any(node in nodes for node in partition.nodes)
        },
        # reservations by number of nodes or GPUs are for the whole pool: here they would not fit, or overlap
        reservations=tuple(reservation for reservation in cluster.reservations if reservation.nodes),
        mounts=tuple(_joined(mount, nodes, machines) for mount in cluster.mounts),
        cloud=_cloud(cluster, overlay) if any(node.elastic for node in nodes.values()) else None,
        slurm=slurm,
        software=_software(cluster.software, overlay),
        qos={
            name: qos.model_copy(update={"grace": min(qos.grace, overlay.grace)}) if qos.grace else qos
            for name, qos in cluster.qos.items()
        },
        preemption=preemption,
        policies=policies,
        drivers=Drivers(
            gpu="fake",
            storage="standin",
            cgroup="v2" if emulated else cgroup,
            shared=SHARED,
            machines=frozenset(machines),
            cpus="real" if true_cpus else "claimed",
        ),
    )


def _let_in(user: User, keys: Collection[str]) -> User:
    """Return the user with additional SSH keys."""
    return replace(user, entry=user.entry.model_copy(update={"keys": (*user.entry.keys, *keys)}))


def _joined(mount: Mount, nodes: Mapping[str, Node], machines: Collection[str]) -> Mount:
    """Return a mount with the testbed's clients; the first client creates the directories of the site's mounts."""
    joined = tuple(name for name in mount.nodes if name in nodes and vm_choice.joined(mount, name, machines))
    if mount.entry.network and mount.server in nodes:
        entry = mount.entry.model_copy(update={"network": None})
        mount = replace(mount, entry=entry, source=f"{nodes[mount.server].fqdn}:{mount.path}")
    if not mount.by_site or mount.server in joined:
        return replace(mount, nodes=joined)
    # a testbed has no site that would create them
    return replace(mount, nodes=joined, server=joined[0] if joined else "")


def _with_its_own_disk(node: Node) -> Node:
    """Return a node without the inventory's disk size: slurmd measures the virtual machine's disk, which is smaller."""
    return replace(node, local_disk=None)


def _cloud(cluster: Cluster, overlay: Testbed) -> Cloud | None:
    """Return the cloud with the containers as its machines, and with the testbed's shorter times."""
    times = {key: getattr(overlay, key) for key in ("idle_after", "boot_timeout", "shutdown_timeout")}
    own = {"driver": "testbed_cloud:Containers", "arguments": {}, "credentials": CLOUD_CREDENTIALS}
    return cluster.cloud.model_copy(update={**own, **times}) if cluster.cloud else None


def _recount(cluster: Cluster) -> dict[str, str]:
    """Return the period of Slurm's fairshare calculation: 1 minute, the minimum, unless the inventory sets it."""
    given = any(key.lower() == "prioritycalcperiod" for key in cluster.slurm.parameters)
    return {"PriorityCalcPeriod": "1"} if cluster.scheduler.fairshare == "accounts" and not given else {}


def _software(software: Software, overlay: Testbed) -> Software:
    """Return the software of a testbed, without the site's own."""
    modules, singularity = software.modules, software.singularity
    if modules:
        # module files point to software that only the site has
        listed = tuple(module.model_copy(update={"provides": ()}) for module in modules.list)
        modules = modules.model_copy(update={"list": listed})
    if singularity and overlay.singularity_suite:
        singularity = singularity.model_copy(update={"package": None, "repository": None})
    return software.model_copy(update={"modules": modules, "singularity": singularity})


def _moved(cluster: Cluster, network: str | None) -> dict[str, Node]:
    # all nodes are managed: in a testbed, only gpupool manages nodes
    kept = {name: replace(cluster.nodes[name], managed=True) for name in cluster.testbed_nodes}
    # a testbed has one network
    kept = {name: replace(node, addresses={}, slurm_address=None, ssh_address=None) for name, node in kept.items()}
    if homeless := [name for name, node in kept.items() if node.address is None]:
        raise TestbedError(f"{', '.join(homeless)}: a node of a testbed needs an address in the inventory")
    if network is None:
        return kept
    own = cluster.entry.network
    return {name: replace(node, address=moved(node.address or "", own, network)) for name, node in kept.items()}


def moved(address: str, own: str, network: str) -> str:
    """Return an address of the inventory's network `own`, moved to `network`, which has the same size or is larger."""
    old = ipaddress.IPv4Network(own)
    try:
        new = ipaddress.IPv4Network(network)
    except ValueError as error:
        raise UsageError(f"{network!r} is not an IPv4 network: {error}; write 10.166.0.0/16") from None
    if new.prefixlen > old.prefixlen:
        raise UsageError(f"{network} is smaller than {old}: the addresses would not fit")
    shift = int(new.network_address) - int(old.network_address)
    return str(ipaddress.IPv4Address(address) + shift)


def _scaled(cluster: Cluster, pool: int) -> dict[str, Account]:
    accounts = cluster.accounts
    caps = {
        name: account.limits.group.gpu
        for name, account in accounts.items()
        if account.entry.kind == "lab" and account.limits.group.gpu
    }
    shares = shared_out(caps, pool, cluster.total_gpus)
    return {
        name: _with_cap(account, shares[name], cluster.scheduler.lab_share) if name in shares else account
        for name, account in accounts.items()
    }


def _with_cap(lab: Account, gpus: int, share: LabShare) -> Account:
    """Return the lab with another cap, and with the limits that lab_share derives from the cap."""
    group, cap = lab.limits.group, lab.limits.group.gpu or 0
    follows = {key: each * gpus for key, each in share if each is not None and getattr(group, key) == each * cap}
    group = group.model_copy(update={"gpu": gpus, **follows})
    return replace(lab, limits=lab.limits.model_copy(update={"group": group}))


def shared_out(caps: Mapping[str, int], pool: int, whole: int) -> dict[str, int]:
    """Scale the `caps` of labs from a cluster of `whole` GPUs to one of `pool` GPUs; each lab gets from 1 to its cap.

    The sum of the caps is scaled in the same way, but is at least the number of labs.
    """
    if not caps:
        return {}
    pool = min(pool, whole)
    exact = {name: cap * pool / whole for name, cap in caps.items()}
    shares = {name: max(1, int(share)) for name, share in exact.items()}
    wanted = max(len(caps), round(sum(exact.values())))
    while sum(shares.values()) != wanted:
        missing = sum(shares.values()) < wanted
        # a missing GPU goes to the lab furthest below its exact part; a surplus GPU comes from the lab furthest above
        order = sorted(caps, key=lambda name: ((shares[name] - exact[name]) * (1 if missing else -1), name))
        chosen = next(name for name in order if (shares[name] < caps[name] if missing else shares[name] > 1))
        shares[chosen] += 1 if missing else -1
    return shares


def spec_of(cluster: Cluster, *, name: str | None = None, prefix: str = "gpupool") -> Spec:
    """Return the containers, network and volumes of a stand-in; TestbedError if no image has the nodes' system."""
    return Spec(
        name=name or cluster.name,
        prefix=prefix,
        network=cluster.entry.network,
        domain=cluster.entry.domain or "",
        suite=_system(cluster).codename,
        containers=tuple(_container(cluster, node) for node in cluster.nodes.values()),
        volumes=tuple(
            _volume(cluster, mount) for mount in cluster.mounts if mount.server not in cluster.drivers.machines
        ),
    )


def _system(cluster: Cluster) -> Distribution:
    systems = {node.system.key: node.system for node in cluster.nodes.values()}
    for system in systems.values():
        if not system.proved:
            raise TestbedError(f"there is no image of {system} for a testbed: {_IN_A_COPY}")
    if len(systems) > 1:
        mixed = " and ".join(map(str, systems.values()))
        raise TestbedError(f"all machines of a testbed run one distribution, but the nodes have {mixed}: {_IN_A_COPY}")
    return next(iter(systems.values()))


def _container(cluster: Cluster, node: Node) -> Container:
    docker = docker_on(cluster, node)
    return Container(
        name=node.name,
        address=node.address or "",
        hostname=node.fqdn,
        packages=_packages(cluster, node),
        gpus=max(minors(node.all_devices), default=-1) + 1,
        devices=len(set(stand_in_files(node.all_devices).values()) - set(minors(node.all_devices))),
        roles=node.roles,
        volumes={
            mount.export: mount.at if mount.by_site else f"{SHARED}/{mount.export}"
            for mount in cluster.mounts
            if node.name not in cluster.drivers.machines
            and (node.name in mount.clients or (node.name == mount.server and not mount.by_site))
        },
        machine=vm_choice.machine_of(cluster, node) if node.name in cluster.drivers.machines else None,
        disks=(docker.data_root,) if docker and node.name not in cluster.drivers.machines else (),
        switches=node.has("controller", "backup-controller") and bool(sleepers(cluster)),
        nests=bool(docker or singularity_on(cluster, node)),
    )


def _packages(cluster: Cluster, node: Node) -> tuple[str, ...]:
    # images have the distribution's packages only; apply installs those of other repositories
    package = singularity.package(node)
    elsewhere = {package} if any(singularity.repositories(cluster, node)) else set()
    suite = cluster.testbed.singularity_suite if cluster.testbed else None
    from_suite = {package: f"{package}/{suite}"} if suite else {}
    return tuple(from_suite.get(name, name) for name in packages_for(cluster, node) if name not in elsewhere)


def _volume(cluster: Cluster, mount: Mount) -> Volume:
    # homes and slurmctld's state must survive a power cut
    keep = mount.export == cluster.storage.home.export or mount.holds(cluster.slurm.state)
    if keep:
        return Volume(mount.export, kind="disk")
    return Volume(mount.export, mount.source, format_size(mount.entry.size) if mount.entry.size else None, "tmpfs")
