"""Build a Cluster from a checked inventory: expand ranges and patterns, and fill in defaults."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import count

from gpupool.addresses import is_ipv4
from gpupool.cluster.accounts import Account, User
from gpupool.cluster.gpu_devices import Device, devices_of
from gpupool.cluster.model import Cluster, Drivers, Sections
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node, OutOfService
from gpupool.cluster.partition import Partition
from gpupool.cluster.resolve.lab_rights import LabRights
from gpupool.cluster.resolve.least import effective_limits
from gpupool.cluster.resolve.outages import described, outages, suspended
from gpupool.cluster.resolve.places import at, space_links
from gpupool.cluster.resolve.pools import dataset_of, pools_on
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.times import default_time
from gpupool.cluster.schema import labs
from gpupool.cluster.schema.base import of_user
from gpupool.cluster.schema.machines import Hardware, NodeEntry
from gpupool.cluster.units import format_size
from gpupool.slurm.releases import has

_MADE_UP = 2_000_000  # the first uid of users without one: on a twin only


def build(site: Site) -> Cluster:
    """Return the Cluster of an inventory in which no check found an error."""
    inventory = site.inventory
    storage = inventory.storage
    links_on = storage.links_on or storage.mount_on
    nodes = {node.name: node for node in _nodes(site)}
    taken = {user.uid for user in inventory.users}
    made_up = (uid for uid in count(_MADE_UP) if uid not in taken)
    sections = {section.name: getattr(inventory, section.name) for section in fields(Sections)}
    return Cluster(
        **sections,
        entry=inventory.cluster,
        nodes=nodes,
        accounts={account.name: _account(account, site) for account in inventory.accounts},
        users={user.name: _user(user, user.uid or next(made_up), site) for user in inventory.users},
        newcomers={
            account.name: _user(labs.User(name="newcomer", account=account.name), 60000, site)
            for account in inventory.accounts
            if account.members_from and inventory.directory
        },
        partitions={partition.name: partition for partition in _partitions(site)},
        mounts=tuple(_mounts(site, nodes)),
        links={**storage.links, **space_links(site)},
        links_on=frozenset(site.node_table.select(links_on) if links_on else ()),
        attached=site.attached,
        testbed_nodes=site.node_table.select(inventory.testbed.nodes) if inventory.testbed else (),
        drivers=Drivers(gpu=inventory.gpu.driver, storage=storage.driver),
        nodes_with_rights=LabRights.of(site).nodes_with_rights,
        suspended=tuple(_suspended(site)),
        _gpu_types=inventory.gpu_types,
        _select=site.node_table.select,
    )


def _nodes(site: Site) -> Iterator[Node]:
    inventory = site.inventory
    keeps_cpus = has(inventory.slurm.version, "RestrictedCoresPerGPU")
    devices: dict[object, tuple[Device, ...]] = {}  # by entry: all nodes of an entry have the same devices
    for expanded in site.node_table.nodes:
        entry, name = expanded.entry, expanded.name
        shape = inventory.hardware.get(entry.hardware or "")
        if expanded.path not in devices:
            devices[expanded.path] = devices_of(inventory.gpu_types, entry)
        types = () if "gpus" in inventory.slurm.left else entry.gpus
        gone = list(outages(site, name)) if inventory.out_of_service else []
        lost = {device for _, each in gone for device in each}
        all_devices = devices[expanded.path]
        in_service = _without(all_devices, lost)
        domain = entry.domain or inventory.cluster.domain
        fqdn = f"{name}.{domain}" if domain and not name.endswith(f".{domain}") else name
        by_number = expanded.address is not None and is_ipv4(expanded.address)
        yield Node(
            name=name,
            slurm_name=fqdn if inventory.cluster.node_names == "fqdn" and "compute" in entry.roles else name,
            fqdn=fqdn,
            address=expanded.address if by_number else None,
            roles=entry.roles,
            cpus=shape.cpus if shape else 0,
            memory=shape.slurm_memory(inventory.slurm.memory_reserve) if shape else 0,
            local_disk=shape.local_disk.slurm_size(inventory.slurm.disk_reserve)
            if shape and shape.local_disk
            else None,
            gpus=_counted(entry.gpus, lost),
            cpus_kept=shape.cpus_kept_per_gpu if shape and entry.gpus and keeps_cpus else 0,
            features=tuple(dict.fromkeys((*types, *entry.features, *_features(entry, shape)))),
            managed=entry.managed,
            elastic=entry.elastic,
            system=site.system_of(entry),
            parameters=node_parameters(shape.parameters if shape else {}, entry.parameters),
            hardware=shape,
            devices=in_service,
            gres=entry.gres,
            out_of_service=tuple(OutOfService(outage.reason, outage.until, each) for outage, each in gone),
            installed=all_devices if lost else (),
            managed_roles=site.managed_roles(entry),
            dns_name=None if by_number else expanded.address,
            hostname=expanded.hostname,
            addresses=expanded.addresses,
            slurm_address=expanded.addresses.get(inventory.slurm.network or ""),
            ssh_address=expanded.addresses.get(inventory.access.admin.network or ""),
        )


def _without(devices: tuple[Device, ...], lost: set[Device]) -> tuple[Device, ...]:
    """Return the devices in service. Their files are known, so slurmd must not look for GPUs: it would find all."""
    if not lost:
        return devices
    return tuple(replace(device, autodetect=None) for device in devices if device not in lost)


def _counted(gpus: Mapping[str, int], lost: set[Device]) -> Mapping[str, int]:
    """Return the counts of the GPUs in service, without types that have none."""
    gone = Counter(device.gpu for device in lost)
    return {gpu: count - gone[gpu] for gpu, count in gpus.items() if count > gone[gpu]} if lost else gpus


def _suspended(site: Site) -> Iterator[str]:
    """Yield what is out of service, then the promises that this suspends, as text."""
    for outage in site.inventory.out_of_service:
        yield f"out of service: {described(outage)}"
    yield from map(str, suspended(site))


def _features(entry: NodeEntry, shape: Hardware | None) -> Iterator[str]:
    for gpu, memory in entry.gpu_memory.items():
        yield f"{gpu}_{format_size(memory).lower()}"
    if shape and shape.arch:
        yield shape.arch


def node_parameters(hardware: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Return further keys of a node's line in slurm.conf: the keys of its hardware, overridden by its own."""
    keys = {key.lower() for key in own}
    return {**{key: value for key, value in hardware.items() if key.lower() not in keys}, **own}


def _account(entry: labs.Account, site: Site) -> Account:
    inventory, name = site.inventory, entry.name
    limits, owned = entry.limits, frozenset[str]()
    if entry.kind == "lab":
        owner = next(owner for owner in site.ownership.owners if owner.name == name)
        limits = limits.model_copy(update={"group": site.ownership.limits(owner)})
        owned = owner.nodes
    return Account(
        entry,
        name,
        parent=entry.parent or "root",
        limits=limits,
        exact=entry.exact and inventory.slurm.exact_accounting,
        tier=entry.tier or "standard",
        coordinators=tuple(user.name for user in inventory.users if user.coordinator and user.account == name),
        nodes=tuple(node for node in site.node_table.by_name if node in owned),
        owns=entry.owns if isinstance(entry.owns, dict) else {},
    )


def _user(entry: labs.User, uid: int, site: Site) -> User:
    inventory, defaults = site.inventory, site.own_qos
    by_name = {account.name: account for account in inventory.accounts}
    own = tuple(dict.fromkeys((entry.account, *entry.accounts)))
    everybodys = (account.name for account in inventory.accounts if account.is_everybodys)
    accounts = tuple(dict.fromkeys((*own, *everybodys)))
    qos = [name for name, qos in inventory.qos.items() if qos.everybody and not qos.default_for]

    def of_account(name: str) -> tuple[str, ...]:
        # In an account that includes all users, a user also has the default QoS of the main account.
        homes = (name,) if name in own else (name, entry.account)
        return tuple(dict.fromkeys([*(defaults[home] for home in homes if home in defaults), *by_name[name].qos]))

    return User(
        entry,
        entry.name,
        uid=uid,
        gid=by_name[entry.account].gid,
        own_accounts=own,
        accounts=accounts,
        qos=tuple(dict.fromkeys([*qos, *entry.qos])),
        account_qos={name: of_account(name) for name in accounts},
        home=of_user(inventory.storage.home.path, entry.name, entry.account),
    )


def _partitions(site: Site) -> Iterator[Partition]:
    for _, entry in site.partitions():
        for name, account in site.partition_names(entry):
            yield _partition(site, entry, name, account or "")


def _partition(site: Site, entry: labs.Partition, name: str, account: str) -> Partition:
    inventory = site.inventory
    accounts = [allowed.replace("{account}", account) for allowed in entry.allow_accounts]
    if entry.allow_lab_accounts:
        accounts += [lab.name for lab in site.accounts_of_kind("lab")]
    preempted = site.is_preempted(entry)
    # Without `preemptable`, a partition is preempted because each QoS that it allows is preemptable.
    guests = [inventory.qos[qos] for qos in entry.qos] if preempted and not entry.preemptable else []
    actions = [entry.preempt_action, *(qos.preempt_action for qos in guests), inventory.preemption.action]
    return Partition(
        entry,
        name,
        nodes=site.node_table.select(entry.nodes),
        default_time=default_time(entry, inventory.scheduler),
        default=inventory.scheduler.default_partition == name,
        preemptable=preempted,
        action=next(action for action in actions if action),
        grace=max((qos.grace or 0 for qos in guests), default=entry.grace or 0),
        allow_accounts=tuple(dict.fromkeys(accounts)),
        deny_accounts=tuple(denied.replace("{account}", account) for denied in entry.deny_accounts),
        limits=effective_limits(entry),
        without_gpu=entry.without_gpu.replace("{account}", account) if entry.without_gpu else None,
    )


def _mounts(site: Site, servers: Mapping[str, Node]) -> Iterator[Mount]:
    storage, select = site.inventory.storage, site.node_table.select
    for key, export in storage.exports.items():
        selector, place = export.mount_on or storage.mount_on, at(site, key)
        if not export.enabled or selector is None:
            continue
        if export.mounted_by == "site":
            # Instead of a server it has the node that creates directories on it, at the same path as on all clients.
            yield Mount(export, key, export.made_on or "", place, export.fs, place, select(selector), None)
        elif export.server is not None and export.path is not None:
            yield Mount(
                export,
                key,
                export.server,
                export.path,
                source=f"{servers[export.server].serves_at(export.network)}:{export.path}",
                at=place,
                nodes=tuple(name for name in select(selector) if name != export.server),
                dataset=dataset_of(export, pools_on(storage, export.server, select)) if export.fs == "zfs" else None,
            )
