"""Decisions as commands of Slurm: few for many jobs, since a whole lab's worth of them may leave together."""

import re
from collections.abc import Callable, Iterable, Sequence

from gpupool.slurm.queue import new_mark

from .decide import Decision, Settings, number, unmarked
from .jobs import Job

Ask = Callable[[list[str]], str]
# runs a command and gives what it prints; nothing where it fails

_OPTION = re.compile(r"--signal[= ]+[\"']?((?:[BR]+:)?[A-Za-z0-9]+)")
# signals that a program can prepare for. KILL would end a job before its grace time and for good, and signals to stop a
# program would spend its grace time
_PREPARED = frozenset({"HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "TERM", "URG", "CONT"})
_NUMBERS = {"1": "HUP", "2": "INT", "3": "QUIT", "6": "ABRT", "10": "USR1", "12": "USR2", "14": "ALRM", "15": "TERM"}


def notes(decisions: Iterable[Decision]) -> list[tuple[list[str], list[Decision]]]:
    """Return the commands that note on jobs that they leave, or that they stay after all; with each, whom it is for.

    Noted before anything happens to a job: whoever comes next finds out when it has to leave, and slurmdbd keeps the
    comment that a run has as it ends.
    """
    alike: dict[str, list[Decision]] = {}
    for decision in decisions:
        alike.setdefault(f"{unmarked(decision.job.comment)} {decision.note}".strip(), []).append(decision)
    return [
        (["scontrol", "update", f"JobId={','.join(each.job.name for each in some)}", f"AdminComment={text}"], some)
        for text, some in alike.items()
    ]


def signals(decisions: Iterable[Decision], settings: Settings, ask: Ask) -> list[list[str]]:
    """As preemption does: the signal the job asked for where users may choose it, else SIGCONT and SIGTERM."""
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
    """Return what `--signal` of each job says, as `B:USR1`, if there is one. Slurm does not show it elsewhere."""
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

    Users write these lines, newlines included. `mark` stands between the columns of sacct: no user knows it, so that
    no line passes for that of another job.
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
    """Return the commands that end jobs; after each slurmctld looks who is next."""
    again: list[str] = []
    never: list[str] = []
    for job in (decision.job for decision in decisions):
        (again if _runs_again(job, settings) else never).append(job.name)
    # Incomplete: a job that has finished in this moment would else run once more
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
