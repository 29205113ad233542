"""Drain nodes with gpupool's reason, wait for their jobs, and resume the nodes that gpupool has drained."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpupool.cluster.node import Node
from gpupool.remote.controller import Controller
from gpupool.run.observer import Observer
from gpupool.shell import shell_file
from gpupool.slurm.jobs import Job
from gpupool.slurm.nodes import reason, reason_of
from gpupool.upkeep.state import by_node, jobs
from gpupool.wording import counted

LOOK_SECONDS = 5.0  # between two queries of the jobs
_SCRIPT = shell_file(__package__, "drain.sh")


@dataclass(frozen=True)
class Moved:
    """Nodes drained or resumed as requested (`done`), and nodes that others have drained (`kept`: name -> reason)."""

    done: tuple[str, ...]
    kept: Mapping[str, str]


def drain(controller: Controller, nodes: Sequence[Node], work: str, why: str) -> Moved:
    """Drain nodes with the reason `gpupool: WORK: WHY`; a node that others have drained keeps their reason."""
    return _move(controller, "drain", nodes, work, reason(work, why))


def resume(controller: Controller, nodes: Sequence[Node], work: str) -> Moved:
    """Resume the nodes that this work has drained, not those drained by others; a node in service is `done`."""
    return _move(controller, "resume", nodes, work, "")


def wait_until_empty(controller: Controller, nodes: Sequence[Node], observer: Observer) -> None:
    """Wait, without a time limit, until no job has any of these nodes. No job is cancelled."""
    while True:
        left = {name: remaining for name, remaining in by_node(jobs(controller, nodes), nodes).items() if remaining}
        if not left:
            return
        for name, remaining in left.items():
            observer.step(name, f"waiting for {jobs_in_brief(remaining)}")
        with observer.waiting(list(left), len(nodes) - len(left), len(nodes)):
            time.sleep(LOOK_SECONDS)


def jobs_in_brief(jobs: Sequence[Job]) -> str:
    """Return a short text on the jobs of a node: `2 jobs (4711 of ann until 2026-11-23 18:00, …)`."""
    some = ", ".join(f"{job.id} of {job.user}{_until(job)}" for job in jobs[:3])
    return f"{counted(len(jobs), 'job')} ({some}{', …' if len(jobs) > 3 else ''})"


def _until(job: Job) -> str:
    return f" until {job.ends[:16].replace('T', ' ')}" if job.ends else " without a time limit"


def _move(controller: Controller, act: str, nodes: Sequence[Node], work: str, text: str) -> Moved:
    names = {node.slurm_name: node.name for node in nodes}
    if not names:
        return Moved((), {})
    lines = controller.ask("sh", "-c", _SCRIPT, "drain", act, reason_of(work), text, *names).splitlines()
    rows = [line.split(" ", 2) for line in lines]
    return Moved(
        tuple(names[row[1]] for row in rows if row[0] == "done"),
        {names[row[1]]: row[2] if len(row) > 2 else "" for row in rows if row[0] == "kept"},
    )
