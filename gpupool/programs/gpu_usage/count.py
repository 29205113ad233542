"""Sums over jobs: by user, by lab, by partition."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .jobs import Job


@dataclass(frozen=True)
class Settings:
    """The properties of the cluster that all users may know.

    `caps` are GPUs by account, in the order of the inventory, None for one without a cap; `parents` are the accounts
    above. `lending` accounts belong to no lab: their jobs run on idle GPUs. `types` counts the GPUs of all nodes.
    """

    caps: Mapping[str, int | None]
    parents: Mapping[str, str]
    lending: tuple[str, ...]
    partitions: tuple[str, ...]
    types: Mapping[str, int]


@dataclass
class Row:
    """GPUs of running and pending jobs; `overcap` of `running` do not count for the cap. `types` splits `running`."""

    name: str
    lab: str = ""
    depth: int = 0
    cap: int | None = None
    running: int = 0
    pending: int = 0
    overcap: int = 0
    cpus: int = 0
    types: Counter[str] = field(default_factory=Counter)

    @property
    def left(self) -> int | None:
        """The GPUs that are left up to the cap; None without a cap."""
        return None if self.cap is None else max(0, self.cap - self.running + self.overcap)

    def add(self, job: Job, settings: Settings) -> None:
        """Add the GPUs of a job."""
        if not job.running:
            self.pending += job.count
            return
        self.running += job.count
        self.cpus += job.cpus
        self.types.update(job.gpus)
        if job.account in settings.lending:
            self.overcap += job.count


def lab_of(job: Job, settings: Settings) -> str:
    """Return the account of a job; for a job on idle GPUs its user's lab, which is the user's Unix group."""
    borrowed = job.account in settings.lending
    return job.group if borrowed and job.group in settings.caps else job.account


def chosen(jobs: Iterable[Job], name: str, settings: Settings) -> list[Job]:
    """Return the jobs of a lab and its sub-accounts, or else those of a partition; KeyError if there is neither."""
    jobs = list(jobs)
    if name in settings.lending:
        return [job for job in jobs if job.account == name]
    if name in settings.caps or any(job.account == name for job in jobs):
        return [job for job in jobs if name in _above(lab_of(job, settings), settings)]
    if name in settings.partitions or any(job.partition == name for job in jobs):
        return [job for job in jobs if job.partition == name]
    raise KeyError(name)


def total(jobs: Iterable[Job], settings: Settings) -> Row:
    """Return the sum of all jobs as a row."""
    row = Row("total")
    for job in jobs:
        row.add(job, settings)
    return row


def by_user(jobs: Iterable[Job], settings: Settings) -> list[Row]:
    """Return a row for each user of a lab, sorted by GPUs, most first."""
    rows: dict[tuple[str, str], Row] = {}
    for job in jobs:
        lab = lab_of(job, settings)
        rows.setdefault((job.user, lab), Row(job.user, lab=lab)).add(job, settings)
    return sorted(rows.values(), key=lambda row: (-row.running, -row.pending, row.name, row.lab))


def by_partition(jobs: Iterable[Job], settings: Settings) -> list[Row]:
    """Return a row for each partition with jobs; a pending job counts for its first partition."""
    rows: dict[str, Row] = {}
    for job in jobs:
        rows.setdefault(job.partition, Row(job.partition)).add(job, settings)
    order = {name: number for number, name in enumerate(settings.partitions)}
    return sorted(rows.values(), key=lambda row: (order.get(row.name, len(order)), row.name))


def by_lab(jobs: Iterable[Job], settings: Settings) -> list[Row]:
    """Return a row for each account with a cap or with jobs.

    As Slurm counts for a cap, an account's row has the jobs of its sub-accounts too; these come below it, deeper.
    """
    rows: dict[str, Row] = {}
    names = [name for name, cap in settings.caps.items() if cap is not None]
    jobs = list(jobs)
    for name in dict.fromkeys([*names, *(lab_of(job, settings) for job in jobs)]):
        above = _above(name, settings)
        for depth, account in enumerate(reversed(above)):
            rows.setdefault(account, Row(account, depth=depth, cap=settings.caps.get(account)))
    for job in jobs:
        for name in _above(lab_of(job, settings), settings):
            rows[name].add(job, settings)
    order = [*settings.caps, *sorted(rows.keys() - settings.caps.keys())]
    return [rows[name] for name in _as_tree("", order, settings) if name in rows]


def _as_tree(parent: str, order: list[str], settings: Settings) -> Iterator[str]:
    for name in order:
        if settings.parents.get(name, "") == parent:
            yield name
            yield from _as_tree(name, order, settings)


def _above(name: str, settings: Settings) -> list[str]:
    """Return an account and its parent accounts, the highest last."""
    names = [name]
    while above := settings.parents.get(names[-1]):
        names.append(above)
    return names
