"""Users who are to be removed from an account: no new job, no start of a pending job, and the end of their jobs.

slurmdbd removes no association with jobs. Until they have ended, its limits GrpSubmitJobs and GrpJobs are 0: slurmctld
refuses new jobs, and starts none, neither a held job that is released nor a preempted one.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.change import Aspect
from gpupool.operations.accounting.removal import strays
from gpupool.operations.accounting.steps import Step, joined, step
from gpupool.slurm.associations import named, where
from gpupool.slurm.keys.limits import SET_AS, write

_CLOSED = ("GrpSubmit", "GrpJobs")  # limits that are 0
_PATIENCE = 60  # seconds until cancelled jobs have ended; slurmctld kills what ignores SIGTERM after KillWait


@dataclass(frozen=True)
class Cancelled:
    """Jobs of a user in an account that are to be cancelled: the number of pending jobs (arrays count once) and of all
    others; 0 others if these may finish.
    """

    user: str
    account: str
    pending: int
    others: int


def closings(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Return the commands that close associations that cannot be removed yet."""
    steps: list[Step] = []
    for (user, account, partition), why in strays(now, wanted).members.items():
        current = now["users"][user]
        known = current["partitions"][account][partition] if partition else current["accounts"][account]
        settings = [name for name in _CLOSED if known.get(name) != 0]
        if why is None or not settings:
            continue
        modify = ["modify", "user", "where", "name={}", f"cluster={wanted['cluster']}"]
        item = named(user, account, partition)
        values = [f"{SET_AS.get(name, name)}={write(name, 0, known.get(name))}" for name in settings]
        note = "no longer in the inventory: no new job, and no start of a pending job"
        steps.append(
            step(
                [*modify, *where(current, account, partition), "set"],
                user,
                values,
                item,
                Aspect("closed", "open", note=note),
            )
        )
    return joined(steps)


def to_cancel(now: Mapping[str, Any], wanted: Mapping[str, Any], running: bool) -> list[Cancelled]:
    """Return the jobs of users who leave an account: the pending ones, and all others if `running`."""
    leaving = dict.fromkeys((user, account) for user, account, _ in strays(now, wanted).members)
    found = []
    for user, account in leaving:
        rows = [row for row in now["queue"] if row[:2] == [account, user]]
        pending, others = (sum(row[at] for row in rows) for at in (3, 4))
        if pending or (others and running):
            found.append(Cancelled(user, account, pending, others if running else 0))
    return found


def without(now: Mapping[str, Any], gone: list[Cancelled], running: bool) -> dict[str, Any]:
    """Return the entities as they are after the jobs have ended."""
    cancelled = {(each.account, each.user) for each in gone}
    queue = [
        [account, user, qos, 0, 0 if running else others] if (account, user) in cancelled else row
        for row in now["queue"]
        for account, user, qos, _, others in [row]
    ]
    ended = {tuple(row[:3]) for row in queue if not row[3] and not row[4]}
    return {**now, "queue": queue, "jobs": [job for job in now["jobs"] if tuple(job) not in ended]}


def changes(gone: list[Cancelled]) -> Iterator[tuple[str, list[Aspect]]]:
    """Yield the changes of jobs by item."""
    for each in gone:
        counts = [f"{each.pending} pending"] if each.pending else []
        counts += [f"{each.others} running"] if each.others else []
        note = f"{' and '.join(counts)} will be cancelled"
        yield f"jobs of user {each.user} in account {each.account}", [Aspect("0", ", ".join(counts), note=note)]


def cancellation(cluster: str, gone: list[Cancelled], running: bool) -> str:
    """Return the shell text that cancels the jobs and waits until they have ended."""
    only = "" if running else "--state=PENDING "
    whose = [
        f"-M {shlex.quote(cluster)} {only}-u {shlex.quote(each.user)} -A {shlex.quote(each.account)}" for each in gone
    ]
    lines = [f"timeout 60 scancel {options} </dev/null || :" for options in whose]
    lines.append(f"patience={_PATIENCE}")
    for options in whose:
        lines += [
            f'while [ -n "$(timeout 15 squeue -ha {options} -o %i 2>&1)" ] && [ $patience -gt 0 ]; do',
            "  sleep 1; patience=$((patience - 1)); done",
        ]
    return "\n".join(lines) + "\n"
