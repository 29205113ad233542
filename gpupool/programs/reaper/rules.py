"""Select stray processes and leftover VS Code servers: pure functions that neither read nor end processes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpupool.node.processes import Process

# Slurm's cgroups of a job, v2 and v1. Users can create cgroups of any name below /user.slice.
_JOB = re.compile(r"/[^/]*slurmstepd\.scope/job_\d+(/|$)|/slurm(_[^/]+)?/uid_\d+/job_\d+(/|$)")
_USERS_OWN = "/user.slice/"
# cgroups of Docker (with the drivers systemd and cgroupfs) and of Podman
_CONTAINER = re.compile(r"/(?:docker-|docker/|libpod-)([0-9a-f]{64})(?:\.scope)?(?:/|$)")
# the uid of a login session, which su does not change
_LOGIN = re.compile(r"/user\.slice/user-(\d+)\.slice(/|$)")
_VSCODE = re.compile(r"(^|/)\.?vscode-server(-insiders)?(/|$)")
_SSHD = re.compile(r"/usr/(s?bin|lib/openssh)/(sshd|sshd-session|sshd-auth)( \(deleted\))?")
# UIDs of systemd's DynamicUser, of the overflow user, and between them (systemd's UIDS-GIDS.md)
_SERVICE_UIDS = range(61184, 65536)


@dataclass(frozen=True)
class Rule:
    """The processes that are spared.

    A container that began more than `grace` seconds before the first running job cannot belong to a job.
    """

    least_uid: int
    grace: float = 0
    spared: frozenset[int] = frozenset({0})
    containers: bool = True
    users_with_jobs: bool = False

    def ordinary(self, process: Process) -> bool:
        """Return whether a process belongs to a person."""
        return process.uid >= self.least_uid and process.uid not in _SERVICE_UIDS


def in_job(process: Process) -> bool:
    """Return whether a process is in a cgroup of a job."""
    return any(_JOB.search(path) and _USERS_OWN not in path for path in process.groups)


def container(process: Process) -> str | None:
    """Return the id of a process's container; None if it is in none."""
    return next((match[1] for path in process.groups if (match := _CONTAINER.search(path))), None)


def strays(processes: Iterable[Process], rule: Rule) -> list[Process]:
    """Return the processes of persons that are outside of jobs and not spared by the rule."""
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
    """Return the uids of admins: users with a descendant process of root, by sudo for example."""
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
    """Return the containers that a job may have started: all that began after the first job that runs now.

    A container does not record who started it, so this is decided in favour of the container.
    """
    first_job = min((process.began for process in of_jobs), default=None)
    began: dict[str | None, float] = {}
    for process in processes:
        if name := container(process):
            began[name] = min(process.began, began.get(name, process.began))
    if first_job is None:
        return set()
    # a prolog may start a container before the job has a process
    return {name for name, when in began.items() if when >= first_job - rule.grace}


def _logged_in_as(process: Process) -> set[int]:
    return {int(match[1]) for path in process.groups if (match := _LOGIN.match(path))}


def vscode(processes: Iterable[Process], rule: Rule, leftovers: bool) -> list[Process]:
    """Return the VS Code servers of persons outside of jobs; with `leftovers`, only of users without an ssh session."""
    running = list(processes)
    present = {process.uid for process in running if _SSHD.fullmatch(process.exe)} if leftovers else set()
    return [
        process
        for process in running
        if rule.ordinary(process) and process.uid not in present and _is_vscode(process) and not in_job(process)
    ]


def _is_vscode(process: Process) -> bool:
    # only the first words: a shell in VS Code's terminal has the server's path in later arguments
    return any(_VSCODE.search(word) for word in (process.exe, *process.command))
