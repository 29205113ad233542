"""A checked inventory to a Cluster: ranges, patterns and defaults written out."""

from collections.abc import Iterator, Mapping

from gpupool.cluster import model
from gpupool.cluster.checks.places import at, space_links
from gpupool.cluster.checks.site import Site
from gpupool.cluster.gpu_devices import Device, devices_of
from gpupool.cluster.pools import dataset_of, pools_on
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.base import of_user
from gpupool.cluster.schema.labs import Account, Partition, User
from gpupool.cluster.schema.machines import Hardware, NodeEntry
from gpupool.cluster.slurm_versions import keeps_cpus
from gpupool.cluster.units import format_size


def build(site: Site) -> model.Cluster:
    """Return the Cluster of an inventory that no check complains of."""
    inventory = site.inventory
    storage = inventory.storage
    links_on = storage.links_on or storage.mount_on
    nodes = {node.name: node for node in _nodes(site)}
    return model.Cluster(
        entry=inventory.cluster,
        nodes=nodes,
        accounts={account.name: _account(account, inventory) for account in inventory.accounts},
        users={user.name: _user(user, inventory) for user in inventory.users},
        qos=inventory.qos,
        partitions={partition.name: partition for partition in _partitions(site)},
        mounts=tuple(_mounts(site, nodes)),
        links={**storage.links, **space_links(site)},
        links_on=frozenset(site.node_table.select(links_on) if links_on else ()),
        gpu=inventory.gpu,
        cloud=inventory.cloud,
        slurm=inventory.slurm,
        scheduler=inventory.scheduler,
        preemption=inventory.preemption,
        storage=storage,
        software=inventory.software,
        environment=inventory.environment,
        tools=inventory.tools,
        timers=inventory.timers,
        examples=inventory.examples,
        attached=site.attached,
        access=inventory.access,
        policies=inventory.policies,
        testbed=inventory.testbed,
        testbed_nodes=site.node_table.select(inventory.testbed.nodes) if inventory.testbed else (),
        drivers=model.Drivers(gpu=inventory.gpu.driver, storage=storage.driver),
        _gpu_types=inventory.gpu_types,
        _select=site.node_table.select,
    )


def _nodes(site: Site) -> Iterator[model.Node]:
    inventory = site.inventory
    devices: dict[object, tuple[Device, ...]] = {}  # of an entry: its nodes are alike
    for expanded in site.node_table.nodes:
        entry, name = expanded.entry, expanded.name
        shape = inventory.hardware.get(entry.hardware or "")
        if expanded.path not in devices:
            devices[expanded.path] = devices_of(inventory.gpu_types, entry)
        domain = entry.domain or inventory.cluster.domain
        fqdn = f"{name}.{domain}" if domain and not name.endswith(f".{domain}") else name
        yield model.Node(
            name=name,
            slurm_name=fqdn if inventory.cluster.node_names == "fqdn" and "compute" in entry.roles else name,
            fqdn=fqdn,
            address=expanded.address,
            roles=entry.roles,
            cpus=shape.cpus if shape else 0,
            memory=shape.slurm_memory(inventory.slurm.memory_reserve) if shape else 0,
            gpus=entry.gpus,
            cpus_kept=shape.cpus_kept_per_gpu if shape and entry.gpus and keeps_cpus(inventory.slurm.version) else 0,
            features=tuple(dict.fromkeys((*entry.gpus, *entry.features, *_features(entry, shape)))),
            managed=entry.managed,
            elastic=entry.elastic,
            hardware=shape,
            devices=devices[expanded.path],
            gres=entry.gres,
        )


def _features(entry: NodeEntry, shape: Hardware | None) -> Iterator[str]:
    for gpu, memory in entry.gpu_memory.items():
        yield f"{gpu}_{format_size(memory).lower()}"
    if shape and shape.arch:
        yield shape.arch


def _account(account: Account, inventory: Inventory) -> model.Account:
    limits = account.limits
    if account.kind == "lab":
        gpus, group, share = account.contributed_gpus or 0, limits.group, inventory.scheduler.lab_share
        shares = {key: each * gpus for key, each in share if each is not None and getattr(group, key) is None}
        group = group.model_copy(update={"gpu": gpus, **shares})
        limits = limits.model_copy(update={"group": group})
    return model.Account(
        name=account.name,
        kind=account.kind,
        gid=account.gid,
        parent=account.parent or "root",
        limits=limits,
        budget=account.budget,
        everybody=account.members == "all",
        fairshare=account.fairshare,
        coordinators=tuple(user.name for user in inventory.users if user.coordinator and user.account == account.name),
        tier=account.tier or "standard",
    )


def _user(user: User, inventory: Inventory) -> model.User:
    lent = [account.name for account in inventory.accounts if account.members == "all" and account.name != user.account]
    own = next(account for account in inventory.accounts if account.name == user.account)
    instead = next((name for name, qos in inventory.qos.items() if user.account in qos.default_for), None)
    everybodys = [name for name, qos in inventory.qos.items() if qos.everybody and not qos.default_for]
    qos = dict.fromkeys([*everybodys, *([instead] if instead else []), *user.qos])
    return model.User(
        name=user.name,
        uid=user.uid,
        account=user.account,
        gid=own.gid,
        accounts=(user.account, *lent),
        qos=tuple(qos),
        default_qos=instead,
        grants=user.grants,
        partitions=user.partitions,
        default_partition=user.default_partition,
        full_name=user.full_name or "",
        shell=user.shell,
        keys=user.keys,
        home=of_user(inventory.storage.home.path, user.name, user.account),
        first_password=user.first_password is not None,
    )


def _partitions(site: Site) -> Iterator[model.Partition]:
    for _, entry in site.partitions():
        for name, account in site.partition_names(entry):
            yield _partition(site, entry, name, account or "")


def _partition(site: Site, entry: Partition, name: str, account: str) -> model.Partition:
    labs = [lab.name for lab in site.accounts_of_kind("lab")] if entry.allow_lab_accounts else []
    return model.Partition(
        name=name,
        nodes=site.node_table.select(entry.nodes),
        max_time=entry.max_time,
        max_nodes=entry.max_nodes,
        tier=entry.tier,
        default=site.inventory.scheduler.default_partition == name,
        preemptable=entry.preemptable,
        grace=entry.grace or 0,
        allow_accounts=tuple(
            dict.fromkeys([*(it.replace("{account}", account) for it in entry.allow_accounts), *labs])
        ),
        deny_accounts=tuple(it.replace("{account}", account) for it in entry.deny_accounts),
        allow_qos=entry.qos,
        limits=entry.limits,
        lift_per_user="per_user" in entry.lift,
        billing=entry.billing,
        assigned=entry.users == "assigned",
    )


def _mounts(site: Site, servers: Mapping[str, model.Node]) -> Iterator[model.Mount]:
    storage = site.inventory.storage
    for key, export in storage.exports.items():
        selector = export.mount_on or storage.mount_on
        if not export.enabled or export.server is None or export.path is None or selector is None:
            continue
        nodes = tuple(name for name in site.node_table.select(selector) if name != export.server)
        source = f"{servers[export.server].fqdn}:{export.path}"
        pools = pools_on(storage, export.server, site.node_table.select)
        yield model.Mount(
            key,
            export.server,
            export.path,
            source,
            at(site, key),
            export.size,
            export.fs,
            nodes,
            dataset=dataset_of(export, pools) if export.fs == "zfs" else None,
            squash=export.squash,
            options=export.options,
            mode=export.mode,
        )
