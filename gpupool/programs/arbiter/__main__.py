"""The service: look, decide, act, sleep. It keeps nothing that a restart would need."""

import json
import signal
import socket
import sys
import time
from pathlib import Path

from gpupool.node import commands
from gpupool.slurm import ping

from . import crowd, decide, jobs, limits, room
from .act import endings, farewells, notes, signals
from .decide import Decision, Settings
from .jobs import UnsureError

# a controller that takes longer than this to answer has other worries
SLOW = 10
# seconds for which what squeue said is good enough to end a job by
FRESH = 3


def say(message: str) -> None:
    """Write a line for the journal."""
    print(message, flush=True)


def ask(command: list[str]) -> str:
    """Return what a command prints; UnsureError where it fails or is slow."""
    return commands.output_of(command, SLOW, UnsureError)


def answer(command: list[str]) -> str:
    """Return what a command prints, nothing where it fails."""
    try:
        return ask(command)
    except UnsureError:
        return ""


class Arbiter:
    """One cycle after the other."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.recent: dict[str, int] = {}
        self.known: set[str] = set()
        self.complaint = ""

    def cycle(self) -> float:
        """Look once and act on it; give when to look again, in seconds since 1970."""
        began = time.time()
        if not ping.is_active(ask(["scontrol", "ping"]), socket.gethostname()):
            raise UnsureError("this controller is not the active one")
        seen = jobs.read(ask(["squeue", "--json"]))
        took = time.time() - began
        owners = crowd.waiting(seen, self.settings)
        helped = owners if crowd.begun(seen, self.settings) else []
        accounts = {job.account for job in [*decide.waiting(seen, self.settings), *helped]}
        try:
            if accounts:
                self.make_room(seen, accounts, int(time.time()))
        finally:
            # grace times end whatever there is to be said about who waits
            self.known = {job.name for job in owners}
            due = self.end(seen, began + took + FRESH)
        again = began + pace(self.settings)
        # the next look is over just before a grace time is
        return again if due is None else min(again, due - took - 1)

    def end(self, seen: list[jobs.Job], until: float) -> int | None:
        """End jobs as their grace times do, as long as what was seen is fresh; give when the next one is over."""
        while (due := decide.deadline(seen, self.settings)) is not None and due <= until:
            time.sleep(max(0.0, due - time.time()))
            decisions = decide.overdue(seen, self.settings, due)
            self.act(decisions)
            gone = {decision.job.name for decision in decisions}
            seen[:] = [job for job in seen if job.name not in gone]
        return due

    def make_room(self, seen: list[jobs.Job], accounts: set[str], now: int) -> None:
        """Look at limits and nodes, which is only worth it while somebody waits."""
        for account in list(accounts):
            while (account := self.settings.parents.get(account, "")) and account not in accounts:
                accounts.add(account)
        known = limits.read(
            ask(["scontrol", "show", "assoc_mgr", "flags=assoc,qos", f"accounts={','.join(sorted(accounts))}"])
        )
        nodes = room.read(ask(["scontrol", "show", "nodes"]))
        self.recent = {job: until for job, until in self.recent.items() if until > now}
        recent = decide.settling(seen, self.recent)
        empty = room.Room(nodes, seen, self.settings.grace)
        emptying = room.Room(nodes, filter(decide.leaving, seen), self.settings.grace)
        decisions = decide.evictions(seen, known, empty, self.settings, now, recent)
        chosen = {decision.job.name for decision in decisions}
        others = [job for job in seen if job.name not in chosen]
        decisions += crowd.evictions(others, known, emptying, self.settings, now, self.known, recent)
        for decision in self.act(decisions):
            if decision.mark:
                self.recent[decision.mark.waiting] = decision.mark.at + decide.SETTLE

    def act(self, decisions: list[Decision]) -> list[Decision]:
        """Carry decisions out, log them, and give those that were; a job that ended by itself meanwhile is no error."""
        done = [it for it in decisions if it.act == "end"]
        for command, some in notes(it for it in decisions if it.act != "end"):
            done += some if self.run(command) else []
        told = [it for it in done if it.act == "signal"]
        for command in signals(told, self.settings, answer):
            self.run(command)
        ends = [it for it in done if it.act == "end"]
        for command, _ in notes(it for it in ends if not it.mark):
            self.run(command)
        for command in farewells(ends, self.settings):
            answer(command)
        for command in endings(ends, self.settings):
            self.run(command)
        for decision in done:
            verb = {"signal": "signalled", "end": "ended", "spare": "spared"}[decision.act]
            job = decision.job
            say(f"job {job.name} of {job.user} in {job.partitions[0]} is {verb}: {decision.reason}")
        return done

    def run(self, command: list[str]) -> bool:
        """Run a command; one that fails is logged, and what it was for is looked at again in the next cycle."""
        try:
            ask(command)
        except UnsureError as why:
            say(str(why))
            return False
        return True

    def complain(self, reason: str) -> None:
        """Log why nothing is done, once and not at every cycle."""
        if reason != self.complaint:
            say(f"doing nothing: {reason}" if reason else "working again")
        self.complaint = reason


def pace(settings: Settings) -> int:
    """Return the seconds between two cycles: the ends of grace times must be known before they come."""
    graces = (*settings.grace.values(), *settings.qos_grace.values())
    shortest = min((grace for grace in graces if grace), default=2 * settings.interval)
    return max(1, min(settings.interval, shortest // 2))


def main(path: str) -> None:
    """Run for ever with the settings of a file."""
    data = json.loads(Path(path).read_text())
    data["labmates"] = tuple(data["labmates"])
    settings = Settings(**data)
    arbiter = Arbiter(settings)
    if not settings.labmates and not any((*settings.grace.values(), *settings.qos_grace.values())):
        say("nothing to do: no partition is preempted by labmates, and none has a grace time")
        signal.pause()
    labmates = ", ".join(settings.labmates) or "none"
    say(f"partitions preempted by labmates: {labmates}; checking every {pace(settings)} s")
    while True:
        again = time.time() + pace(settings)
        try:
            again = arbiter.cycle()
            arbiter.complain("")
        except UnsureError as why:
            arbiter.complain(str(why))
        # at least a second, so that a controller in trouble is not asked all the time
        time.sleep(max(1.0, again - time.time()))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/etc/gpupool/arbiter.json")
