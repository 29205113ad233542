"""Whether Slurm accepts a job, reckoned from the words of the inventory alone, as docs/concepts.md has them.

It reads the inventory as it is written, and uses nothing that gpupool made of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from .jobs import Job

_UNITS = {"h": 1, "d": 24}  # hours


class Reckoning:
    """The words of an inventory by name."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Read the inventory's data, with the keys that `inventory.Made` writes."""
        self.places = _by_name(data["partitions"])
        self.accounts = _by_name(data["accounts"])
        self.users = _by_name(data["users"])
        self.gpus = {node["name"]: sum(node.get("gpus", {}).values()) for node in data["nodes"]}
        self.qos = data["qos"]
        self.default = data["scheduler"]["default_partition"]

    def reasons(self, job: Job) -> list[str]:
        """Return why each partition of a job refuses it; empty if one of them admits it."""
        names = job.partitions or (self.default,)
        account = job.account or self.users[job.user]["account"]
        qos, before = (job.qos, 0) if job.qos else self._qos(job, names, account)
        if not self._may_use(job.user, account, qos):
            return [f"{job.user} may not use QoS {qos}"]
        reasons = [
            next(self._limits(job, self.places[name], account, self._default_qos(name, account)))
            if place < before
            else next(self._reasons(job, self.places[name], account, qos), None)
            for place, name in enumerate(names)
        ]
        return [f"{name}: {reason}" for name, reason in zip(names, reasons, strict=True)] if all(reasons) else []

    def _qos(self, job: Job, names: Sequence[str], account: str) -> tuple[str, int]:
        """Return the QoS of a job without --qos, and how many partitions it left first.

        The QoS is that of the first partition whose limits take the job with it.
        """
        each = [self._default_qos(name, account) for name in names]
        taken = (
            (qos, place)
            for place, (name, qos) in enumerate(zip(names, each, strict=True))
            if not any(self._limits(job, self.places[name], account, qos))
        )
        return next(taken, (each[0], len(names)))

    def _default_qos(self, name: str, account: str) -> str:
        place, usual = self.places[name], next(name for name, qos in self.qos.items() if qos.get("default"))
        return str(place.get("default_qos", usual)) if _admits(place, account) else usual

    def _may_use(self, user: str, account: str, qos: str) -> bool:
        listed = (*self.users[user].get("qos", ()), *self.accounts[account].get("qos", ()))
        return self.qos[qos].get("everybody", True) or qos in listed

    def _reasons(self, job: Job, place: Mapping[str, Any], account: str, qos: str) -> Iterator[str]:
        if not _admits(place, account):
            yield f"it does not admit account {account}"
        if qos not in place.get("qos", [qos]):
            yield f"it does not admit QoS {qos}"
        if (job.hours or 0) > (hours := _hours(place["max_time"])):
            yield f"at most {hours} hours"
        yield from self._limits(job, place, account, qos)

    def _limits(self, job: Job, place: Mapping[str, Any], account: str, name: str) -> Iterator[str]:
        qos = self.qos[name]
        least, memory = (_first("per_job_least", resource, place) or 0 for resource in ("gpu", "mem"))
        if (job.hours or 0) > (hours := _hours(qos.get("max_wall", f"{job.hours or 0}h"))):
            yield f"at most {hours} hours"
        if place.get("without_gpu") == "refuse" and not job.gpus:
            yield "not without a GPU"
        if job.gpus < least:
            yield f"at least {least} GPUs"
        if job.memory < memory:
            yield f"at least {memory} GiB"
        if job.gpus > (most := self._most("gpu", place, qos, account)):
            yield f"at most {most:.0f} GPUs"
        if job.memory > (most := self._most("mem", place, qos, account)):
            yield f"at most {most:.0f} GiB"
        cpus = _first("per_job", "cpu", place, qos, self.accounts[account])
        if cpus is not None and job.tasks > cpus:
            yield f"at most {cpus} CPUs"

    def _most(self, resource: str, place: Mapping[str, Any], qos: Mapping[str, Any], account: str) -> float:
        """Return the most that a job may have: limits of an account and its users apply beside those of the others."""
        lifted = "per_user" in place.get("lift", ())
        of_account = self.accounts[account]
        limits = [
            _first("per_user", resource, *((place,) if lifted else (place, qos))),
            _first("per_user", resource, of_account),
            _first("group", resource, of_account),
        ]
        if resource == "gpu":
            limits.append(sum(self.gpus[node] for node in place["nodes"].split(",")))
        return min((limit for limit in limits if limit is not None), default=inf)


def _by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in entries}


def _admits(place: Mapping[str, Any], account: str) -> bool:
    return account in place.get("allow_accounts", [account]) and account not in place.get("deny_accounts", ())


def _hours(span: str) -> int:
    return int(span[:-1]) * _UNITS[span[-1]]


def _first(kind: str, resource: str, *entries: Mapping[str, Any]) -> int | None:
    """Return the limit on a resource of the first of these entries that has one."""
    limits = (entry.get("limits", {}).get(kind, {}).get(resource) for entry in entries)
    return next((int(str(limit).rstrip("G")) for limit in limits if limit is not None), None)
