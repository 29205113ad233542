"""Check which jobs are preempted by which jobs, and how: by the tiers of partitions, or by QoS."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import LabRights
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition, Qos


def ensure_jobs_are_preempted_by_one_rule(site: Site) -> Iterator[Complaint]:
    """Slurm has one PreemptType: with preemptable QoS, no job is preempted because of its partition."""
    guests = _guests(site)
    for path, partition in site.partitions() if guests else ():
        if partition.preemptable:
            message = (
                f"with the preemptable QoS {guests[0]} Slurm preempts by QoS alone: jobs of {partition.name} with "
                "another QoS would never be preempted"
            )
            hint = f"remove it and set qos: [{guests[0]}] here, or set preemptable in partitions alone"
            yield Complaint((*path, "preemptable"), message, hint)


def ensure_preemptable_qos_are_preempted(site: Site) -> Iterator[Complaint]:
    """Each QoS preempts only preemptable QoS, without a cycle, and another QoS preempts each preemptable QoS."""
    qos, guests = site.inventory.qos, _guests(site)
    for name, entry in qos.items():
        for index, other in enumerate(entry.preempts):
            path: Path = ("qos", name, "preempts", index)
            if other == name:
                yield Complaint(path, f"{name} would preempt its own jobs", "remove it")
            elif other in qos and not qos[other].preemptable:
                hint = f"set preemptable: true in qos.{other}, or remove it here"
                yield Complaint(path, f"{other} is not preemptable", hint)
            elif name in _below(site, other):
                message = f"{name} would be preempted by {other}, which it preempts: Slurm refuses that"
                yield Complaint(path, message, "remove one of them")
    for name in guests:
        if not any(name in other.preempts for other in qos.values()):
            message = f"no QoS preempts {name}"
            yield Complaint(("qos", name, "preemptable"), message, f"set preempts: [{name}] in another, or remove it")


def ensure_only_preemptable_entries_have_a_grace(site: Site) -> Iterator[Complaint]:
    """Only preemptable partitions and QoS have a grace time and an action."""
    entries: list[tuple[Path, str, Qos | Partition]] = []
    entries += [(("qos", name), name, qos) for name, qos in site.inventory.qos.items()]
    entries += [(path, partition.name, partition) for path, partition in site.partitions()]
    for path, name, entry in entries:
        for key in ("grace", "preempt_action"):
            if getattr(entry, key) is not None and not entry.preemptable:
                hint = f"remove {key}"
                if isinstance(entry, Partition) and site.is_preempted(entry):
                    hint = f"set it in its QoS: {', '.join(entry.qos)}"
                yield Complaint((*path, key), f"{name} is not preemptable", hint)


def ensure_owners_preempt_guests(site: Site) -> Iterator[Complaint]:
    """Where labs own something, their default QoS is not preemptable, and all others preempt preemptable QoS."""
    guests, qos, lab_rights = _guests(site), site.inventory.qos, LabRights.of(site)
    told: set[tuple[str, str]] = set()
    for owner in site.ownership.owners if guests and lab_rights.computable else ():
        rights = lab_rights.nodes_of(owner)
        unpreempted = [
            partition
            for partition in lab_rights.partitions_without_preemption(owner.name)
            if site.nodes_of(partition.nodes) & rights
        ]
        defaults = {partition.name: site.default_qos(partition, owner.name) for partition in unpreempted}
        if place := next((name for name, default in defaults.items() if default in guests), None):
            message = (
                f"jobs of {owner.name} without --qos have the QoS {defaults[place]} in {place}, which is preemptable"
            )
            hint = f"set default_for: [{owner.name}] of a QoS that is not"
            yield Complaint(("accounts", owner.index), message, hint)
        for partition in unpreempted:
            near = _guests_near(site, site.nodes_of(partition.nodes) & rights)
            others = [other for other in partition.qos or qos if other in qos and other not in guests]
            waits = [(name, guest) for name in others for guest in near if guest not in qos[name].preempts]
            for name, guest in waits:
                if (name, guest) not in told:
                    told.add((name, guest))
                    message = (
                        f"jobs of {owner.name} with QoS {name} would not preempt those of {guest} in {partition.name}"
                    )
                    yield Complaint(("qos", name, "preempts"), message, f"add {guest}, or do not allow {name} there")


def ensure_guests_have_their_qos(site: Site) -> Iterator[Complaint]:
    """An account whose jobs may run only in partitions with preemptable QoS has one of these QoS as its default."""
    lab_rights = LabRights.of(site)
    for path, partition in site.partitions() if _guests(site) and lab_rights.computable else ():
        if partition.preemptable or not site.is_preempted(partition):
            continue
        for account in site.inventory.accounts:
            if not site.admits(partition, account.name) or lab_rights.partitions_without_preemption(account.name):
                continue
            if (own := site.default_qos(partition, account.name)) not in partition.qos:
                message = f"jobs of {account.name} without --qos have the QoS {own}, and would be refused here"
                hint = f"set default_for: [{account.name}] in qos.{partition.qos[0]}, or default_qos here"
                yield Complaint((*path, "qos"), message, hint, "warning")


def ensure_suspended_jobs_hold_no_resources_of_owners(site: Site) -> Iterator[Complaint]:
    """A suspended job keeps its GPUs and memory, and Slurm suspends it without a grace time."""
    lab_rights, owners = LabRights.of(site), site.ownership.owners
    for path, partition in site.partitions() if lab_rights.computable else ():
        if partition.preempt_action != "suspend":
            continue
        here, nodes = (*path, "preempt_action"), site.nodes_of(partition.nodes)
        if site.gpus_of(frozenset({partition.nodes})):
            message = "a suspended job keeps its GPUs, so that no job could preempt it for them"
            yield Complaint(here, message, "set requeue or cancel, or leave out nodes with GPUs")
        if labs := [owner.name for owner in owners if nodes & lab_rights.nodes_of(owner)]:
            message = f"a suspended job keeps its memory, and jobs of {listed(labs)} may not find any beside it"
            yield Complaint(here, message, "set requeue or cancel, or leave out nodes where labs own something")
        if partition.grace:
            yield Complaint((*path, "grace"), "Slurm suspends jobs at once", "remove it")
        if partition.exclusive:
            message = "suspended jobs share their nodes with the jobs that preempt them"
            yield Complaint((*path, "exclusive"), message, "remove it")
        if over := next((key for key in partition.parameters if key.lower() == "oversubscribe"), None):
            message = "suspended jobs need FORCE:1, which gpupool sets"
            yield Complaint((*path, "parameters", over), message, "remove it")


def _guests(site: Site) -> list[str]:
    return [name for name, qos in site.inventory.qos.items() if qos.preemptable]


def _below(site: Site, name: str) -> set[str]:
    """Return the QoS that a QoS preempts, directly or through others."""
    qos, preempted = site.inventory.qos, set[str]()
    following = [name]
    while following:
        entry = qos.get(following.pop())
        further = entry.preempts if entry else ()
        following += [other for other in further if other not in preempted]
        preempted |= set(further)
    return preempted


def _guests_near(site: Site, nodes: frozenset[str]) -> list[str]:
    """Return the preemptable QoS whose jobs may run on any of these nodes."""
    near = [entry for _, entry in site.partitions() if site.nodes_of(entry.nodes) & nodes]
    return [name for name in _guests(site) if any(not entry.qos or name in entry.qos for entry in near)]
