"""Check limits that Slurm would accept but not enforce, or that other limits would hide."""

from collections.abc import Iterator, Mapping

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Account, Amounts, Limits, Partition, Qos
from gpupool.cluster.units import format_size

# Limits that Slurm does not have, by kind.
_NOWHERE = {
    "group_minutes": ("jobs", "submitted", "wall"),
    "per_user": ("wall",),
    "per_user_minutes": ("jobs", "submitted", "wall"),
    "per_account": ("wall",),
    "per_job": ("jobs", "submitted"),
}


def _all_limits(site: Site) -> Iterator[tuple[Path, Limits, frozenset[str]]]:
    """Yield each limits block with its path and the selectors of its nodes."""
    everywhere = frozenset({"@compute"})
    for index, account in enumerate(site.inventory.accounts):
        yield ("accounts", index, "limits"), account.limits, everywhere
    for name, qos in site.inventory.qos.items():
        places = frozenset(entry.nodes for _, entry in site.partitions() if not entry.qos or name in entry.qos)
        yield ("qos", name, "limits"), qos.limits, places or everywhere
    for path, partition in site.partitions():
        yield (*path, "limits"), partition.limits, frozenset({partition.nodes})


def _amounts(site: Site) -> Iterator[tuple[Path, str, Amounts, frozenset[str]]]:
    for path, limits, nodes in _all_limits(site):
        for kind, amounts in limits:
            if amounts.model_fields_set:
                yield (*path, kind), kind, amounts, nodes


def ensure_slurm_has_the_limits(site: Site) -> Iterator[Complaint]:
    """Slurm has each limit, and each is set once."""
    for path, kind, amounts, _ in _amounts(site):
        for key in _NOWHERE.get(kind, ()):
            if getattr(amounts, key) is not None:
                message = f"Slurm has no limit on {key} {kind.replace('_', ' ')}"
                hint = (
                    "use per_job.wall or group.wall" if key == "wall" else "use group, which limits it for an account"
                )
                yield Complaint((*path, key), message, hint)
    for name, qos in site.inventory.qos.items():
        if qos.max_wall is not None and qos.limits.per_job.wall is not None:
            path = ("qos", name, "limits", "per_job", "wall")
            yield Complaint(path, "duplicates max_wall", "keep one")


def ensure_minutes_of_a_user_are_an_accounts(site: Site) -> Iterator[Complaint]:
    """Minutes per user are limited on accounts only, and are below the minutes of the whole account."""
    for path, kind, _, _ in _amounts(site):
        if kind == "per_user_minutes" and path[0] != "accounts":
            where = "a QoS" if path[0] == "qos" else "a partition"
            message = f"Slurm cannot limit the minutes of a user in {where}"
            hint = "set it on accounts; parameters: {MaxTRESRunMinsPU: …} of a QoS limits those of running jobs"
            yield Complaint(path, message, hint)
    for index, account in enumerate(site.inventory.accounts):
        whole, path = account.limits.group_minutes, ("accounts", index, "limits", "per_user_minutes")
        most = {**dict(whole), **({"billing": account.budget * 60} if account.budget is not None else {})}
        for key, each in account.limits.per_user_minutes:
            if isinstance(each, int) and isinstance(given := most[key], int) and each > given:
                message = f"is {each}, but the account has {given} for all its users: this limit has no effect"
                yield Complaint((*path, key), message, severity="warning")


def ensure_submitted_jobs_may_run(site: Site) -> Iterator[Complaint]:
    """A limit on submitted jobs is at least that on running jobs, and at most the cluster's own limit."""
    most = site.inventory.scheduler.max_submitted_jobs
    for path, kind, amounts, _ in _amounts(site):
        if amounts.submitted is None or kind not in ("group", "per_user", "per_account"):
            continue
        here = (*path, "submitted")
        if amounts.jobs is not None and amounts.jobs > amounts.submitted:
            message = f"is {amounts.submitted}, below jobs, which is {amounts.jobs}: running jobs count, too"
            yield Complaint(here, message, "raise it, or remove jobs")
        if kind == "per_user" and most is not None and amounts.submitted > most:
            message = f"is {amounts.submitted}, but scheduler.max_submitted_jobs is {most}: this limit has no effect"
            yield Complaint(here, message, severity="warning")


def ensure_typed_limits_hold(site: Site) -> Iterator[Complaint]:
    """A limit on a GPU type names a type that exists, and jobs cannot bypass it by requesting no type."""
    existing = {gpu for entry in site.inventory.nodes if "compute" in entry.roles for gpu in entry.gpus}
    open_door = site.inventory.scheduler.untyped_gpus != "refuse"
    # Slurm refuses a job without a type where a minimum is one of a type.
    typed = {path for path, limits, _ in _all_limits(site) if any(limits.per_job_least.gpus.values())}
    for path, kind, amounts, _ in _amounts(site):
        for gpu in amounts.gpus:
            if gpu not in existing:
                yield Complaint((*path, "gpus", gpu), f"no compute node has a GPU of type {gpu}")
        if amounts.gpus and open_door and kind != "per_job_least" and path[:-1] not in typed:
            message = "a job that requests GPUs without a type bypasses a limit on a type"
            yield Complaint((*path, "gpus"), message, "set scheduler.untyped_gpus: refuse")


def ensure_limits_can_bind(site: Site) -> Iterator[Complaint]:
    """A limit is below what exists, and a limit on billing needs partitions with prices."""
    charged = any(partition.billing.has_prices for _, partition in site.partitions())
    for path, kind, amounts, nodes in _amounts(site):
        if amounts.billing is not None and not charged:
            message = "no partition sets billing, so Slurm would bill CPUs only"
            yield Complaint((*path, "billing"), message, "set billing in the partitions", "warning")
        if kind in ("group_minutes", "per_user_minutes", "per_job_least"):
            continue
        pool = site.pool(nodes)
        for key, total in pool.items():
            given = getattr(amounts, key)
            if given is not None and total and given > total:
                shown = format_size(given) if key == "mem" else given
                message = (
                    f"is {shown}, but there are {format_size(total) if key == 'mem' else total}: this limit has no "
                    "effect"
                )
                yield Complaint((*path, key), message, severity="warning")


def ensure_gpus_with_a_price_exist(site: Site) -> Iterator[Complaint]:
    """Slurm does not start with a price for GPUs if no node has a GPU."""
    if any(entry.gpus for entry in site.inventory.nodes if "compute" in entry.roles):
        return
    for path, partition in site.partitions():
        if partition.billing.gpu is not None:
            yield Complaint((*path, "billing", "gpu"), "no compute node has a GPU", "remove it")


def ensure_each_gpu_has_one_price(site: Site) -> Iterator[Complaint]:
    """GPUs have one price or one per type, not both, because Slurm adds them up; nodes have each type with a price."""
    have = {gpu for entry in site.inventory.nodes if "compute" in entry.roles for gpu in entry.gpus}
    for path, partition in site.partitions():
        prices, here = partition.billing.gpus, (*path, "billing", "gpus")
        if prices and partition.billing.gpu is not None:
            yield Complaint(here, "together with `gpu`, every GPU would be charged twice", "keep one of the two")
        for gpu in prices:
            if gpu not in have:
                yield Complaint((*here, gpu), f"no compute node has a GPU of type {gpu}", "remove it")
        nodes = (site.node_table.by_name.get(name) for name in site.nodes_of(partition.nodes) if prices)
        types = {gpu for node in nodes if node for gpu, count in node.entry.gpus.items() if count}
        if free := sorted(types - prices.keys()) if prices else []:
            message = f"{' and '.join(free)} of this partition would cost nothing"
            yield Complaint(here, message, f"add {free[0]}: 0 if that is intended", "warning")


def ensure_fair_shares_count_gpus(site: Site) -> Iterator[Complaint]:
    """Fair shares count the use of GPUs, too."""
    if site.inventory.scheduler.fairshare == "none":
        return
    for path, partition in site.partitions():
        if site.gpus_of(frozenset({partition.nodes})) and partition.billing.gpu is None and not partition.billing.gpus:
            message = (
                "the partition has GPUs, but a job's use of them does not count for fair shares: Slurm counts CPUs"
            )
            yield Complaint((*path, "billing"), message, "set billing: {cpu: 1.0, gpu: 8.0}", "warning")


def ensure_caps_are_not_hidden(site: Site) -> Iterator[Complaint]:
    """A group limit in a job's or a partition's QoS replaces an account's limit on the same resource."""
    own = {account.name: _limited(site, account) for account in site.inventory.accounts}
    for path, limits, _ in _all_limits(site):
        if path[0] == "accounts":
            continue
        admitted = list(own)
        if isinstance(path[1], int):
            accounts = site.admitted(site.inventory.partitions[path[1]])
            admitted = [name for account in accounts for name in site.with_parents(account.name)]
        capped = {limit for name in admitted for limit in own.get(name, ())}
        for kind in ("group", "group_minutes"):
            for key, value in getattr(limits, kind):
                if value not in (None, {}) and (kind, key) in capped:
                    where = "a QoS" if path[0] == "qos" else "a partition"
                    message = f"a group limit on {key} in {where} replaces the accounts' own limits"
                    yield Complaint((*path, kind, key), message, "use per_user")


def _limited(site: Site, account: Account) -> set[tuple[str, str]]:
    """Return the kinds and resources of an account's group limits; as a lab, it has those of what it owns."""
    owned = next((owner for owner in site.ownership.owners if owner.name == account.name), None)
    limits = account.limits
    # On accounts, limits per user become group limits of each user's own association.
    kinds = (("group", limits.group), ("group", limits.per_user))
    minutes = (("group_minutes", limits.group_minutes), ("group_minutes", limits.per_user_minutes))
    capped = {(kind, key) for kind, amounts in (*kinds, *minutes) for key, value in amounts if value}
    capped |= (
        {("group", key) for key, value in site.ownership.limits(owned) if value not in (None, {})} if owned else set()
    )
    return capped | ({("group_minutes", "billing")} if account.budget is not None else set())


def ensure_user_limits_are_not_hidden(site: Site) -> Iterator[Complaint]:
    """A partition's limit per user or per job replaces that of the job's QoS, so a higher one must be intended."""
    for path, partition in site.partitions():
        for name, qos in _usable(partition, site.inventory.qos):
            for kind in ("per_user", "per_account", "per_job"):
                if f"{kind}" in partition.lift:
                    continue
                for key, here, limit in _higher(getattr(partition.limits, kind), getattr(qos.limits, kind)):
                    message = f"{here} overrides the {limit} of QoS {name}, so jobs here could exceed it"
                    hint = (
                        "remove it, or set lift: [per_user] if this is intended" if kind == "per_user" else "remove it"
                    )
                    yield Complaint((*path, "limits", kind, key), message, hint)


def ensure_limits_of_accounts_users_are_kept(site: Site) -> Iterator[Complaint]:
    """A QoS that limits an account's users must replace every QoS with which they could bypass its limits."""
    for name, qos in site.inventory.qos.items():
        if qos.replaces and not qos.default_for:
            message = f"{name} is not the default QoS of any account, so it cannot replace another"
            yield Complaint(("qos", name, "replaces"), message, "set default_for to the accounts it is for")
        if not qos.default_for or not qos.limits.per_user.model_fields_set:
            continue
        others = (
            other
            for other, entry in site.inventory.qos.items()
            if other != name
            and entry.everybody
            and not entry.default_for
            and not entry.limits.per_user.model_fields_set
        )
        places = [
            entry for _, entry in site.partitions() if any(site.admits(entry, account) for account in qos.default_for)
        ]
        ways = [
            other
            for other in others
            if other not in qos.replaces and any(_both(place, name, other) for place in places)
        ]
        if ways:
            message = f"users of {', '.join(qos.default_for)} can bypass these limits with --qos={ways[0]}"
            hint = f"set replaces: [{', '.join([*qos.replaces, *ways])}]"
            # The job would stay in its partition with the replacing QoS, which that partition refuses.
            if shut := next(
                (
                    place.name
                    for place in places
                    for other in ways
                    if place.qos and other in place.qos and name not in place.qos
                ),
                None,
            ):
                hint = f"give {ways[0]} limits.per_user too: partition {shut} does not take {name} instead of it"
            yield Complaint(("qos", name, "limits", "per_user"), message, hint, "warning")


def _both(partition: Partition, one: str, other: str) -> bool:
    """Return whether a partition allows both QoS."""
    return not partition.qos or {one, other} <= set(partition.qos)


def _usable(partition: Partition, qos: Mapping[str, Qos]) -> Iterator[tuple[str, Qos]]:
    return ((name, entry) for name, entry in qos.items() if not partition.qos or name in partition.qos)


def _higher(one: Amounts, other: Amounts) -> Iterator[tuple[str, object, object]]:
    for key, amount in one:
        bound = getattr(other, key)
        if isinstance(amount, int) and isinstance(bound, int) and amount > bound:
            yield key, amount, bound
