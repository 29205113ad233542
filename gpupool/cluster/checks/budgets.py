"""Check budgets: Slurm must be able to report and to charge them."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Account
from gpupool.slurm.releases import first_tested, has


def _budgets(site: Site) -> Iterator[tuple[int, Account]]:
    return ((index, account) for index, account in enumerate(site.inventory.accounts) if account.budget is not None)


def ensure_budgets_are_charged(site: Site) -> Iterator[Complaint]:
    """A budget needs a Slurm that reports it, prices in all partitions, and jobs with a time limit."""
    for index, account in _budgets(site):
        here = ("accounts", index, "budget")
        if account.limits.group_minutes.billing is not None:
            yield Complaint(here, "is defined twice: limits.group_minutes.billing is the same limit", "keep one")
        if not has(site.inventory.slurm.version, "sshare --json"):
            message = f"Slurm {site.inventory.slurm.version} cannot report how much of a budget is used"
            yield Complaint(here, message, f"use slurm.version {first_tested('sshare --json')} or later")
    for path, partition in site.partitions() if any(_budgets(site)) else ():
        if partition.max_time is None:
            message = "a job without a time limit has no price, so under a budget it could never start"
            yield Complaint((*path, "max_time"), message, "set max_time")
        if not partition.billing.has_prices:
            message = f"partition {partition.name} has no price, so Slurm charges 1 for an hour of a CPU"
            yield Complaint((*path, "billing"), message, "set billing", "warning")
        typed = ((("gpus", gpu), price) for gpu, price in partition.billing.gpus.items())
        for key, price in ((("gpu",), partition.billing.gpu), *typed):
            if price is not None and 0 < price < 1:
                message = "a job of one GPU costs nothing: Slurm charges whole units"
                hint = "multiply all prices, and the budgets with them"
                yield Complaint((*path, "billing", *key), message, hint, "warning")


def ensure_budgets_have_an_effect(site: Site) -> Iterator[Complaint]:
    """A budget is smaller than the budget of each account above it."""
    by_name = {account.name: account for account in site.inventory.accounts}
    for index, account in _budgets(site):
        parent, seen = by_name.get(account.parent or ""), {account.name}
        while parent and parent.name not in seen:
            seen.add(parent.name)
            if parent.budget is not None and (account.budget or 0) > parent.budget:
                message = f"is {account.budget}, but {parent.name} above it has {parent.budget}: it has no effect"
                yield Complaint(("accounts", index, "budget"), message, severity="warning")
                break
            parent = by_name.get(parent.parent or "")
