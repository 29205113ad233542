"""The arbiter's service: it reads the queue, decides, acts and sleeps. A restart loses nothing that it needs.

Nothing that a job or an answer of Slurm contains may end the service: each error is logged and sent to systemd as the
status of the service, which `gpupool verify` reads. Then the next cycle begins.
"""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gpupool.node import commands, files
from gpupool.slurm import ping, queue, snapshot
from gpupool.slurm.jobs import QueuedJob

from . import crowd, decide, guard, jobs, limits, room
from .act import endings, notes, notifications, signals
from .decide import Decision, Mark, Settings
from .guard import Bounds
from .jobs import UnsureError

# time limit of a command in seconds
SLOW = 30
# maximum seconds between two checks of the guard
WATCH = 10
# cycles for which other programs may use the queue that the arbiter has read
LASTS = 3
# seconds that an apply may take
APPLY = 3600
# seconds between two signs of life of an arbiter that has nothing to do
IDLE = 60
# maximum age in seconds of squeue's output by which a job is ended
FRESH = 3


class PassiveError(UnsureError):
    """This controller is not the active one: the arbiter of the active one does the work."""


def say(message: str) -> None:
    """Write a line for the journal."""
    print(message, flush=True)


def ask(command: list[str]) -> str:
    """Return the output of a command; UnsureError if it fails or times out."""
    return commands.output_of(command, SLOW, UnsureError, _environment())


def _environment() -> dict[str, str]:
    # a setting of squeue would hide jobs
    known = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    return known | queue.ENVIRONMENT


def status(text: str) -> None:
    """Send a status line of the service to systemd, and a sign of life; do nothing without systemd."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        line = " ".join(text.split())[:1000]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sent, suppress(OSError):
            sent.sendto(f"STATUS={line}\nWATCHDOG=1".encode(), address.replace("@", "\0", 1))


def answer(command: list[str]) -> str:
    """Return the output of a command; "" if it fails."""
    try:
        return ask(command)
    except UnsureError:
        return ""


class Arbiter:
    """The state of the arbiter between two cycles."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.recent: dict[str, int] = {}
        self.tries: dict[str, tuple[int, int]] = {}
        self.known: set[str] = set()
        self.complaint = ""
        self.trouble = ""
        self._nodes: list[room.Node] | None = None

    def cycle(self) -> float:
        """Run one cycle; return the time of the next one, in seconds since 1970."""
        began = time.time()
        if not ping.is_active(ask(["scontrol", "ping"]), socket.gethostname()):
            raise PassiveError("this controller is not the active one")
        mark = queue.new_mark()
        look = jobs.read(ask(queue.command(mark)), mark)
        self._nodes = None
        seen = look.jobs
        took = time.time() - began
        self.unwell(look.unread, self.guard(seen), self.share(look.entries, began))
        owners = crowd.waiting(seen, self.settings)
        helped = owners if crowd.begun(seen, self.settings) else []
        accounts = {job.account for job in [*decide.waiting(seen, self.settings), *helped]}
        try:
            if accounts:
                self.make_room(seen, accounts, int(time.time()))
        finally:
            # grace times must also end if the limits or nodes cannot be read
            self.known = {job.name for job in owners}
            due = self.end(seen, began + took + FRESH)
        again = began + pace(self.settings)
        # begin early enough for the next cycle to read the queue just before the grace time ends
        return again if due is None else min(again, due - took - 1)

    def end(self, seen: list[jobs.Job], until: float) -> int | None:
        """End jobs whose grace time ends before `until`; return the end of the next grace time."""
        while (due := decide.deadline(seen, self.settings)) is not None and due <= until:
            time.sleep(max(0.0, due - time.time()))
            decisions = decide.overdue(seen, self.settings, due)
            self.act(decisions)
            gone = {decision.job.name for decision in decisions}
            seen[:] = [job for job in seen if job.name not in gone]
        return due

    def make_room(self, seen: list[jobs.Job], accounts: set[str], now: int) -> None:
        """Read limits and nodes, and signal jobs so that pending jobs of `accounts` can start."""
        for account in list(accounts):
            while (account := self.settings.parents.get(account, "")) and account not in accounts:
                accounts.add(account)
        known = limits.read(
            ask(["scontrol", "show", "assoc_mgr", "flags=assoc,qos", f"accounts={','.join(sorted(accounts))}"])
        )
        nodes = self.nodes()
        self.recent = {job: until for job, until in self.recent.items() if until > now}
        pending = {decide.number(job.name) for job in seen if job.pending}
        self.tries = {job: last for job, last in self.tries.items() if job in pending}
        recent = decide.settling(seen, self.recent)
        empty = room.Room(nodes, seen, self.settings.grace)
        emptying = room.Room(nodes, filter(decide.leaving, seen), self.settings.grace)
        decisions = decide.evictions(seen, known, empty, self.settings, now, recent)
        chosen = {decision.job.name for decision in decisions}
        others = [job for job in seen if job.name not in chosen]
        decisions += crowd.evictions(others, known, emptying, self.settings, now, self.known, recent)
        for decision in self.act(decisions):
            if decision.mark:
                self.settle(decision.mark, seen)

    def settle(self, mark: Mark, seen: list[jobs.Job]) -> None:
        """Record until when no other job is evicted for a job; the time doubles if an eviction did not start it."""
        tries, last = self.tries.get(mark.waiting, (0, 0))
        if last == mark.at:
            return
        began = any(decide.number(job.name) == mark.waiting and job.start >= last for job in seen if job.has)
        tries = 0 if began else min(tries + 1, decide.TRIES)
        self.tries[mark.waiting] = (tries, mark.at)
        self.recent[mark.waiting] = mark.at + decide.SETTLE * 2 ** max(0, tries - 1)

    def guard(self, seen: list[jobs.Job]) -> str:
        """Hold or cancel jobs that hold more than their bounds; return the problem to report, "" if there is none."""
        bounds = self.settings.bounds
        try:
            for job in guard.wrapped(seen):
                if self.run(["scontrol", "update", f"JobId={job.name}", f"Nice={bounds.nice}"]):
                    say(f"job {job.name} of {job.user} gets nice {bounds.nice}: its own one, {job.nice}, wrapped")
            excesses = guard.of_jobs(seen, bounds) if bounds.any else []
            if excesses:
                excesses = guard.without_whole(excesses, self.nodes())
            known = {excess.job.name for excess in excesses}
            excesses += [excess for excess in guard.of_accounts(seen, bounds) if excess.job.name not in known]
            for excess in excesses:
                job = excess.job
                say(f"job {job.name} of {job.user} in {job.partitions[0]} may not run on: {excess.reason}")
                # a failure is ignored: Slurm cannot write into the output of an interactive job
                answer(guard.notification(excess, bounds))
                for command in guard.commands(excess, bounds):
                    self.run(command)
        except Exception as error:
            # an error of the guard must not stop the other tasks
            return f"the guard does nothing: {_told(error)}"
        held = ", ".join(f"{job.name} of {job.user}" for job in guard.held(seen))
        return f"jobs held for their allocation: {held}" if held else ""

    def nodes(self) -> list[room.Node]:
        """Return the nodes, for which slurmctld is asked once in a cycle."""
        if self._nodes is None:
            self._nodes = room.read(ask(["scontrol", "show", "nodes"]))
        return self._nodes

    def share(self, entries: Iterable[QueuedJob], at: float) -> str:
        """Write the queue for other programs of this controller; give the reason if that fails."""
        if self.settings.share:
            try:
                files.replace(Path(self.settings.share), snapshot.text(entries, at, LASTS * pace(self.settings)))
            except OSError as error:
                return f"other programs do not get the queue: {self.settings.share}: {error.strerror}"
        return ""

    def unwell(self, *reasons: str | Iterable[str]) -> None:
        """Log problems that do not stop the cycle, once and not in every cycle, and send them to systemd."""
        lines = [line for reason in reasons for line in ([reason] if isinstance(reason, str) else reason) if line]
        text = "; ".join(lines[:20])
        if text != self.trouble:
            say(text or "all is well again")
        self.trouble = text
        status(f"unwell: {text}" if text else "well")

    def act(self, decisions: list[Decision]) -> list[Decision]:
        """Carry out decisions, log them, and return the successful ones; a job that has just ended is no error."""
        done = [decision for decision in decisions if decision.act == "end"]
        for command, some in notes(decision for decision in decisions if decision.act != "end"):
            if self.run(command):
                done += some
            elif len(some) > 1:
                # one of the jobs has ended, and scontrol does not print which of the others it has updated
                done += [alone for alone in some for single, _ in notes([alone]) if self.run(single)]
        told = [decision for decision in done if decision.act == "signal"]
        for command in signals(told, self.settings, answer):
            self.run(command)
        ends = [decision for decision in done if decision.act == "end"]
        for command, _ in notes(decision for decision in ends if not decision.mark):
            self.run(command)
        for command in notifications(ends, self.settings):
            answer(command)
        for command in endings(ends, self.settings):
            self.run(command)
        for decision in done:
            verb = {"signal": "signalled", "end": "ended", "spare": "spared"}[decision.act]
            job = decision.job
            say(f"job {job.name} of {job.user} in {job.partitions[0]} is {verb}: {decision.reason}")
        return done

    def run(self, command: list[str]) -> bool:
        """Run a command and return whether it succeeded; a failure is logged, and the next cycle tries again."""
        try:
            ask(command)
        except UnsureError as why:
            say(str(why))
            return False
        return True

    def complain(self, error: Exception | None) -> None:
        """Log the error that stopped a cycle, once and not in every cycle; `error` is None after a complete cycle."""
        reason = _told(error) if error else ""
        if reason != self.complaint:
            say(f"doing nothing: {reason}" if reason else "working again")
        self.complaint = reason
        if error:
            status(f"{'waiting' if isinstance(error, PassiveError) else 'unwell: doing nothing'}: {reason}")


def pace(settings: Settings) -> int:
    """Return the seconds between two cycles, at most half the shortest grace time, so that no end is missed."""
    graces = (*settings.grace.values(), *settings.qos_grace.values())
    shortest = min((grace for grace in graces if grace), default=2 * settings.interval)
    most = min(settings.interval, WATCH) if settings.bounds.any else settings.interval
    return max(1, min(most, shortest // 2))


def _told(error: Exception) -> str:
    """Return the message of an error; if it is a bug, print its traceback to the journal."""
    if isinstance(error, UnsureError):
        return str(error)
    say("".join(traceback.format_exception(error)[-4:]).rstrip())
    return f"{type(error).__name__}: {str(error)[:200]}"


def settings_of(path: str) -> Settings:
    """Return the settings in a file."""
    data = json.loads(Path(path).read_text())
    data["labmates"] = tuple(data["labmates"])
    bounds = data.get("bounds", {})
    # an apply lowers the limits in Slurm after it has changed this file
    since = Path(path).stat().st_mtime + APPLY
    data["bounds"] = Bounds(**bounds, parents=data.get("parents", {}), since=since)
    return Settings(**data)


def main(path: str) -> None:
    """Run forever with the settings of a file."""
    settings = settings_of(path)
    arbiter = Arbiter(settings)
    idle = not settings.labmates and not settings.bounds.any
    if idle and not any((*settings.grace.values(), *settings.qos_grace.values())):
        say("nothing to do: no partition is preempted by labmates, and none has a grace time")
        while True:
            status("well: nothing to do")
            time.sleep(IDLE)
    labmates = ", ".join(settings.labmates) or "none"
    say(f"partitions preempted by labmates: {labmates}; checking every {pace(settings)} s")
    while True:
        again = time.time() + pace(settings)
        try:
            again = arbiter.cycle()
            arbiter.complain(None)
        except Exception as error:
            arbiter.complain(error)
        # at least a second, so that a controller in trouble is not asked all the time
        time.sleep(max(1.0, again - time.time()))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/etc/gpupool/arbiter.json")
