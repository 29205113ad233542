"""Decisions as commands of Slurm: few commands for many jobs, because all jobs of a lab may be evicted together."""

import re
from collections.abc import Callable, Iterable, Sequence

from gpupool.slurm.queue import new_mark

from .decide import Decision, Settings, number, unmarked
from .jobs import Job

# runs a command and returns its output, "" if it fails
Ask = Callable[[list[str]], str]

_OPTION = re.compile(r"--signal[= ]+[\"']?((?:[BR]+:)?[A-Za-z0-9]+)")
# signals that a program can handle. KILL would end a job before its grace time, and a stopped program could not use it.
_PREPARED = frozenset({"HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "TERM", "URG", "CONT"})
_NUMBERS = {"1": "HUP", "2": "INT", "3": "QUIT", "6": "ABRT", "10": "USR1", "12": "USR2", "14": "ALRM", "15": "TERM"}


def notes(decisions: Iterable[Decision]) -> list[tuple[list[str], list[Decision]]]:
    """Return the commands that record decisions in the comments of jobs, each with its decisions.

    They run before any other command: a restarted arbiter reads from the comment when a job must end, and slurmdbd
    keeps the comment at the end of a run.
    """
    alike: dict[str, list[Decision]] = {}
    for decision in decisions:
        alike.setdefault(f"{unmarked(decision.job.comment)} {decision.note}".strip(), []).append(decision)
    return [
        (["scontrol", "update", f"JobId={','.join(each.job.name for each in some)}", f"AdminComment={text}"], some)
        for text, some in alike.items()
    ]


def signals(decisions: Iterable[Decision], settings: Settings, ask: Ask) -> list[list[str]]:
    """Return the commands that signal jobs as Slurm's preemption does.

    The signal is that of `--signal`, if the settings allow it; else SIGCONT and SIGTERM.
    """
    jobs = [decision.job for decision in decisions]
    chosen = chosen_signals(jobs, ask) if settings.user_signal and jobs else {}
    alike: dict[tuple[str, ...], list[str]] = {}
    for job in jobs:
        if wanted := chosen.get(job.name):
            where, _, name = wanted.rpartition(":")
            options: list[tuple[str, ...]] = [(*(["--batch"] if "B" in where else []), f"--signal={name}")]
        else:
            options = [("--signal=CONT",), ("--signal=TERM",)]
        for option in options:
            alike.setdefault(option, []).append(job.name)
    return [["scancel", *option, *names] for option, names in alike.items()]


def chosen_signals(jobs: Sequence[Job], ask: Ask) -> dict[str, str]:
    """Return the `--signal` of each job that has one, as `B:USR1`, from its command line or script.

    Slurm does not show it elsewhere.
    """
    lines = submit_lines([job.name for job in jobs], ask)
    scripts: dict[str, str | None] = {}
    chosen = {}
    for job in jobs:
        option = _OPTION.search(lines.get(job.name, ""))
        if option:
            wanted = option[1]
        elif job.batch:
            # the tasks of an array have one script
            whole = number(job.name)
            if whole not in scripts:
                scripts[whole] = _in_script(ask(["scontrol", "write", "batch_script", job.name, "-"]))
            wanted = scripts[whole] or ""
        else:
            continue
        where, _, name = wanted.rpartition(":")
        name = _NUMBERS.get(name, name.upper().removeprefix("SIG"))
        if name in _PREPARED:
            chosen[job.name] = f"{where}:{name}" if where else name
    return chosen


def submit_lines(names: Sequence[str], ask: Ask, mark: str | None = None) -> dict[str, str]:
    """Return the command line with which each job was submitted.

    Users write these lines, which may have newlines. sacct separates columns by `mark`, which no user knows, so that a
    line cannot imitate that of another job.
    """
    mark = mark or new_mark()
    shown = ["--noheader", "--parsable2", f"--delimiter={mark}", "--format=JobID,SubmitLine,JobIDRaw"]
    listed = ask(["sacct", "--allocations", f"--jobs={','.join(names)}", *shown])
    found = re.findall(rf"^([0-9_]+){mark}(.*?){mark}[0-9]+$", listed, re.DOTALL | re.MULTILINE)
    return dict(found)


def _in_script(script: str) -> str | None:
    for line in script.splitlines():
        if line.startswith("#SBATCH") and (option := _OPTION.search(line)):
            return option[1]
    return None


def endings(decisions: Iterable[Decision], settings: Settings) -> list[list[str]]:
    """Return the commands that end jobs: one for many jobs, because slurmctld schedules after each command."""
    again: list[str] = []
    never: list[str] = []
    for job in (decision.job for decision in decisions):
        (again if _runs_again(job, settings) else never).append(job.name)
    # Incomplete: without it, a job that has just finished would run again
    return [
        *([["scontrol", "requeue", "Incomplete", ",".join(again)]] if again else []),
        *([["scancel", *never]] if never else []),
    ]


def notifications(decisions: Iterable[Decision], settings: Settings) -> list[list[str]]:
    """Return the commands that write the reason into the output of jobs that will not run again; scancel does not."""
    return [
        ["scontrol", "notify", decision.job.name, f"gpupool: PREEMPTED: job {decision.job.name} was {decision.reason}"]
        for decision in decisions
        if not _runs_again(decision.job, settings)
    ]


def _runs_again(job: Job, settings: Settings) -> bool:
    action = settings.actions.get(settings.preempted_by(job), settings.action)
    return action == "requeue" and job.batch and job.requeue
