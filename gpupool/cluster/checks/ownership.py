"""Check that each lab gets what it owns, which is defined once, exists, and cannot be held for good by other labs."""

from collections.abc import Iterator
from math import inf

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import ANY, LabRights, owned, rights
from gpupool.cluster.resolve.ownership import CPUS
from gpupool.cluster.resolve.site import Site


def ensure_ownership_is_defined_once(site: Site) -> Iterator[Complaint]:
    """A lab has `contributed_gpus` or `owns`; its limits follow from that."""
    for index, account in enumerate(site.inventory.accounts):
        path: Path = ("accounts", index)
        if account.kind != "lab":
            if account.owns is not None:
                yield Complaint((*path, "owns"), f"{account.name} is not a lab", "set kind: lab, or remove it")
            continue
        if account.contributed_gpus is None and account.owns is None:
            yield Complaint(path, f"the lab {account.name} has no contributed_gpus", "0 if it has none")
        elif account.contributed_gpus is not None and account.owns is not None:
            yield Complaint((*path, "owns"), f"{account.name} has contributed_gpus, too", "keep one of the two")
        group, owns = account.limits.group, account.owns
        if group.gpu is not None and not isinstance(owns, str):
            message = f"a lab's GPU cap comes from {'contributed_gpus' if owns is None else 'owns'}"
            yield Complaint((*path, "limits", "group", "gpu"), message, "remove it here")
        if isinstance(owns, dict):
            for key, given in (("gpus", bool(group.gpus)), ("cpu", CPUS in owns and group.cpu is not None)):
                if given:
                    yield Complaint((*path, "limits", "group", key), "this limit comes from owns", "remove it here")


def ensure_owned_resources_exist(site: Site) -> Iterator[Complaint]:
    """A lab owns compute nodes that no other lab owns, and GPUs of types that exist and that jobs must name."""
    types, taken = site.ownership.gpu_types, dict[str, str]()
    for owner in site.ownership.owners:
        path: Path = ("accounts", owner.index, "owns")
        for gpu in owner.types:
            if gpu not in types:
                yield Complaint((*path, gpu), f"no compute node has a GPU of type {gpu}")
        if owner.types and site.inventory.scheduler.untyped_gpus != "refuse":
            message = f"a job that requests GPUs without a type could hold GPUs that {owner.name} owns"
            yield Complaint(path, message, "set scheduler.untyped_gpus: refuse")
        for name in sorted(owner.nodes):
            if "compute" not in site.node_table.by_name[name].entry.roles:
                yield Complaint(path, f"{name} is not a compute node")
        twice = sorted(name for name in owner.nodes if taken.setdefault(name, owner.name) != owner.name)
        if twice:
            yield Complaint(
                path, f"{listed(twice)} {'is' if len(twice) == 1 else 'are'} already owned by {taken[twice[0]]}"
            )


def ensure_caps_fit_the_pool(site: Site) -> Iterator[Complaint]:
    """The GPUs that labs own in the pool add up to the GPUs of the nodes that no lab owns."""
    sharing = [owner for owner in site.ownership.owners if owner.shares]
    if not sharing:
        return
    compute = (node for node in site.node_table.nodes if "compute" in node.entry.roles)
    gpus = sum(sum(node.entry.gpus.values()) for node in compute if node.name not in site.ownership.of_nodes)
    caps = sum(owner.gpus for owner in sharing)
    noun = "contributed_gpus" if all(owner.number is not None for owner in sharing) else "GPUs"
    where = "nodes that no lab owns" if site.ownership.of_nodes else "compute nodes"
    if caps > gpus:
        message = f"the labs' {noun} add up to {caps}, but the {where} have {gpus} GPUs"
        each = listed([f"{owner.gpus} of {owner.name}" for owner in sharing if owner.gpus], most=20)
        hint = f"more GPUs are promised than exist: lower {each} by {caps - gpus} in sum"
        yield Complaint(("accounts",), message, hint)
    elif caps < gpus:
        message = f"the labs' {noun} add up to {caps} of {gpus} GPUs; the rest have no owner"
        yield Complaint(("accounts",), message, severity="warning")


def ensure_caps_leave_each_lab_its_own(site: Site) -> Iterator[Complaint]:
    """Jobs that are not preempted leave each lab what it owns, on whichever nodes they run."""
    lab_rights, owners = LabRights.of(site), site.ownership.owners
    if not lab_rights.computable or sum(lab.gpus for lab in owners) > lab_rights.amount(lab_rights.pool, ANY):
        return  # another check complains about the sum
    told: set[tuple[frozenset[str], str]] = set()
    for owner in owners:
        for resource in rights(owner):
            where = lab_rights.pool_nodes(owner, resource)
            if (where, resource) in told:
                continue
            told.add((where, resource))
            have, held = lab_rights.amount(where, resource), lab_rights.most_held(where, resource)
            if owned(owner, resource) <= have < held < inf:
                noun = {ANY: "GPUs", CPUS: "CPUs"}.get(resource, f"{resource} GPUs")
                message = (
                    f"{owner.name} may not get the {noun} it owns: jobs that are not preempted may hold, by their "
                    f"limits, {held:.0f} of the {have} there"
                )
                typed = "" if resource in (ANY, CPUS) else ", or set which types the other labs own (owns)"
                hint = f"lower a limit, or make a partition preemptable{typed}"
                yield Complaint(("accounts", owner.index), message, hint)


def ensure_owned_cpus_can_be_used(site: Site) -> Iterator[Complaint]:
    """The partitions where an owner's jobs are not preempted have at least the CPUs that it owns."""
    lab_rights = LabRights.of(site)
    for owner in site.ownership.owners if lab_rights.computable else ():
        have = lab_rights.amount(lab_rights.pool_nodes(owner, CPUS), CPUS)
        if have < (owner.cpus or 0):
            message = (
                f"{owner.name} owns {owner.cpus} CPUs, but the partitions where its jobs are not preempted have {have}"
            )
            yield Complaint(("accounts", owner.index, "owns"), message, "allow it in one with more nodes")


def ensure_overcap_stays_preemptable(site: Site) -> Iterator[Complaint]:
    """On nodes with GPUs or CPUs of labs, an account without a cap may only submit to preemptable partitions."""
    lab_rights = LabRights.of(site)
    owners = site.ownership.owners if lab_rights.computable else ()
    claims = [
        (owner, resource, lab_rights.pool_nodes(owner, resource)) for owner in owners for resource in rights(owner)
    ]
    for index, account in enumerate(site.inventory.accounts):
        for owner, resource, pool_nodes in claims:
            if lab_rights.capped(account, resource) or lab_rights.belongs(account, owner.name):
                continue
            where = [
                entry.name
                for entry in lab_rights.partitions_without_preemption(account.name)
                if site.nodes_of(entry.nodes) & pool_nodes
            ]
            if where:
                noun, key = ("CPUs", "cpu") if resource == CPUS else ("GPUs", "gpu")
                message = (
                    f"jobs of {account.name}, which has no cap, could hold {noun} of {owner.name} for good in "
                    f"{listed(where)}"
                )
                hint = f"set limits.group.{key} for it, or make these partitions preemptable or closed to it"
                yield Complaint(("accounts", index), message, hint)
                break


def ensure_owned_nodes_run_their_owners_jobs(site: Site) -> Iterator[Complaint]:
    """Owned nodes are in a partition that does not preempt their owner's jobs; jobs of others are preempted on them."""
    lab_rights, of_nodes = LabRights.of(site), site.ownership.of_nodes
    for owner in site.ownership.owners:
        if missing := sorted(owner.nodes - lab_rights.nodes_without_preemption(owner.name)):
            message = f"{listed(missing)}: in no partition where jobs of {owner.name} run and are not preempted"
            hint = f"add a partition with these nodes and allow_accounts: [{owner.name}]"
            yield Complaint(("accounts", owner.index, "owns"), message, hint)
    for path, partition in site.partitions() if of_nodes else ():
        if site.is_preempted(partition):
            continue
        owned = sorted(site.nodes_of(partition.nodes) & of_nodes.keys())
        admitted = site.admitted(partition)
        for lab in dict.fromkeys(of_nodes[node].name for node in owned):
            strangers = [account.name for account in admitted if not lab_rights.belongs(account, lab)]
            if strangers:
                nodes = listed([node for node in owned if of_nodes[node].name == lab])
                message = f"jobs of {listed(strangers)} could hold {nodes} for good, which {lab} owns"
                hint = f"allow {lab} alone, leave these nodes out, or set preemptable: true"
                yield Complaint((*path, "nodes"), message, hint)
