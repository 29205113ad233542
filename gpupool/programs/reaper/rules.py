"""Which processes are strays, and which are VS Code's leftovers. Data in, data out: nothing is read or ended here."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .processes import Process

# Slurm's groups of a job, with v2 and v1 of control groups; users can make groups of any name below /user.slice
_JOB = re.compile(r"/[^/]*slurmstepd\.scope/job_\d+(/|$)|/slurm(_[^/]+)?/uid_\d+/job_\d+(/|$)")
_USERS_OWN = "/user.slice/"
# Docker's with systemd's driver, and with its own; Podman's
_CONTAINER = re.compile(r"/(?:docker-|docker/|libpod-)([0-9a-f]{64})(?:\.scope)?(?:/|$)")
# whose login a session is, also after su
_LOGIN = re.compile(r"/user\.slice/user-(\d+)\.slice(/|$)")
_VSCODE = re.compile(r"(^|/)\.?vscode-server(-insiders)?(/|$)")
_SSHD = re.compile(r"/usr/(s?bin|lib/openssh)/(sshd|sshd-session|sshd-auth)( \(deleted\))?")
# users that systemd makes up for services, and nobody: uid-gid(7) of systemd
_NOBODYS = range(61184, 65536)


@dataclass(frozen=True)
class Rule:
    """What is spared. `grace` in seconds: how long before every job a container began that is certainly no job's."""

    least_uid: int
    grace: float = 0
    spared: frozenset[int] = frozenset({0})
    containers: bool = True
    users_with_jobs: bool = False

    def ordinary(self, process: Process) -> bool:
        """Return whether a process is that of a person."""
        return process.uid >= self.least_uid and process.uid not in _NOBODYS


def in_job(process: Process) -> bool:
    """Return whether Slurm holds a process as a part of a job."""
    return any(_JOB.search(path) and _USERS_OWN not in path for path in process.groups)


def container(process: Process) -> str | None:
    """Return the id of the container that a process is in."""
    return next((match[1] for path in process.groups if (match := _CONTAINER.search(path))), None)


def strays(processes: Iterable[Process], rule: Rule) -> list[Process]:
    """Return the processes of persons that are outside of jobs and that no rule spares."""
    running = list(processes)
    of_jobs = [process for process in running if in_job(process)]
    spared = set(rule.spared) | _admins(running)
    if rule.users_with_jobs:
        spared |= {process.uid for process in of_jobs}
    of_containers = _perhaps_of_jobs(running, of_jobs, rule) if rule.containers else set()
    return [
        process
        for process in running
        if rule.ordinary(process)
        and process.uid not in spared
        and not _logged_in_as(process) & spared
        and not in_job(process)
        and container(process) not in of_containers
    ]


def _admins(processes: Iterable[Process]) -> set[int]:
    """Return the users who are root further down: by sudo, for example. All that is theirs is the work of an admin."""
    by_pid = {process.pid: process for process in processes}
    admins, seen = set[int](), set[int]()
    for process in by_pid.values():
        above = by_pid.get(process.parent) if process.uid == 0 else None
        while above and above.pid not in seen:
            seen.add(above.pid)
            admins.add(above.uid)
            above = by_pid.get(above.parent)
    return admins - {0}


def _perhaps_of_jobs(processes: Iterable[Process], of_jobs: Iterable[Process], rule: Rule) -> set[str | None]:
    """Return the containers that a job may have started: all but those that began before every job that is here now.

    Nothing says who started a container, so one of a job is never taken for another's, but the other way round.
    """
    first_job = min((process.began for process in of_jobs), default=None)
    began: dict[str | None, float] = {}
    for process in processes:
        if name := container(process):
            began[name] = min(process.began, began.get(name, process.began))
    if first_job is None:
        return set()
    # a prolog may start one, before the job has any process
    return {name for name, when in began.items() if when >= first_job - rule.grace}


def _logged_in_as(process: Process) -> set[int]:
    return {int(match[1]) for path in process.groups if (match := _LOGIN.match(path))}


def vscode(processes: Iterable[Process], rule: Rule, leftovers: bool) -> list[Process]:
    """Return the VS Code servers of persons outside of jobs; of `leftovers` those of users without an ssh session."""
    running = list(processes)
    present = {process.uid for process in running if _SSHD.fullmatch(process.exe)} if leftovers else set()
    return [
        process
        for process in running
        if rule.ordinary(process) and process.uid not in present and _is_vscode(process) and not in_job(process)
    ]


def _is_vscode(process: Process) -> bool:
    # a user's shell in its terminal names the server further on, and is not the server
    return any(_VSCODE.search(word) for word in (process.exe, *process.command))


#: Processes in, those to be ended out.
Chosen = Callable[[Iterable[Process]], list[Process]]
