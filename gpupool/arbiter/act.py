"""Decisions as commands of Slurm."""

import re
from collections.abc import Callable, Iterable

from .arrays import Split
from .decide import Decision, Settings, unmarked
from .jobs import Job

Ask = Callable[[list[str]], str]
# runs a command and gives what it prints; nothing where it fails

_OPTION = re.compile(r"--signal[= ]+[\"']?((?:[BR]+:)?[A-Za-z0-9]+)")


def commands(decision: Decision, settings: Settings, ask: Ask) -> list[list[str]]:
    """Give the commands of a decision, to be run in turn up to the first that fails."""
    job = decision.job
    if decision.act == "signal":
        # noted on the job before anything happens to it: whoever comes next finds out when it has to leave
        note = f"{unmarked(job.comment)} {decision.mark}".strip()
        return [_comment(job, note), *_signal(job, settings, ask)]
    if decision.act == "spare":
        return [_comment(job, unmarked(job.comment))]
    return endings([decision], settings)


def endings(decisions: Iterable[Decision], settings: Settings) -> list[list[str]]:
    """Give the commands that end jobs, few for many: after each slurmctld looks who is next."""
    again: list[str] = []
    never: list[str] = []
    for job in (it.job for it in decisions):
        (again if _runs_again(job, settings) else never).append(job.name)
    # Incomplete: a job that has finished in this moment would else run once more
    return [
        *([["scontrol", "requeue", "Incomplete", ",".join(again)]] if again else []),
        *([["scancel", *never]] if never else []),
    ]


def farewells(decisions: Iterable[Decision], settings: Settings) -> list[list[str]]:
    """Give the commands that write why into the output of jobs that will not run again: scancel does not say it."""
    return [
        ["scontrol", "notify", it.job.name, f"gpupool: PREEMPTED: job {it.job.name} was {it.reason}"]
        for it in decisions
        if not _runs_again(it.job, settings)
    ]


def _runs_again(job: Job, settings: Settings) -> bool:
    return settings.action == "requeue" and job.batch and job.requeue


def apart(split: Split) -> list[str]:
    """Give the command after which tasks of an array have records of their own: what it changes is what was there."""
    number, tasks = split.job.name, ",".join(map(str, split.tasks))
    return ["scontrol", "update", f"JobId={number}_[{tasks}]", f"AdminComment={split.job.comment}"]


def _comment(job: Job, text: str) -> list[str]:
    return ["scontrol", "update", f"JobId={job.name}", f"AdminComment={text}"]


def _signal(job: Job, settings: Settings, ask: Ask) -> list[list[str]]:
    """As preemption does: the signal the job asked for where users may choose it, else SIGCONT and SIGTERM."""
    wanted = chosen_signal(job, ask) if settings.user_signal else None
    if wanted:
        where, _, name = wanted.rpartition(":")
        return [["scancel", *(["--batch"] if "B" in where else []), f"--signal={name}", job.name]]
    return [["scancel", f"--signal={name}", job.name] for name in ("CONT", "TERM")]


def chosen_signal(job: Job, ask: Ask) -> str | None:
    """Give what the job's `--signal` says, as `B:USR1`; None without. Slurm tells nobody, so it is read again."""
    line = ask(["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job.name}", "--format=SubmitLine"])
    if found := _OPTION.search(line):
        return found[1]
    if job.batch:
        for line in ask(["scontrol", "write", "batch_script", job.name, "-"]).splitlines():
            if line.startswith("#SBATCH") and (found := _OPTION.search(line)):
                return found[1]
    return None
