"""The service: read slurmctld's wishes, the machines and Slurm, and switch machines. A restart loses no state."""

import json
import socket
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import slurm
from .cloud import Cloud, CloudError
from .decide import Seen, Step, renew, settle, steps
from .slurm import SlurmError
from .wishes import Wish, Wishes

#: Seconds between two cycles without an open wish, and with open wishes, when each cycle asks the cloud.
LOOK, CLOUD_LOOK = 1.0, 3.0
_CALLS = 64  # machines that are switched at the same time: the cloud may take minutes for each


def say(message: str) -> None:
    """Write a line for the journal."""
    print(message, flush=True)


class Elastic:
    """The state of the service between two cycles. `settings` is the content of /etc/gpupool/elastic.json."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.machines: dict[str, str] = settings["machines"]
        self.limit: int | None = settings["starting"]
        self.boot_timeout: int = settings["boot_timeout"]
        self.cloud = Cloud(settings["driver"], settings["arguments"], settings["credentials"])
        self.wishes = Wishes(settings["folder"])
        self.progress = self.wishes.progress()
        self.calls: dict[str, tuple[Step, Future[None]]] = {}
        self.pool = ThreadPoolExecutor(_CALLS)
        self.complaint = ""

    def look(self) -> bool:
        """Run one cycle; return whether a wish is open."""
        wishes = {node: wish for node, wish in self.wishes.read().items() if node in self.machines}
        news = [node for node in wishes if node not in self.progress or self.progress[node].since != wishes[node].since]
        if not news and not self.calls and all(progress.done for progress in self.progress.values()):
            return False
        try:
            states = slurm.states(socket.gethostname())
        except SlurmError as reason:
            self.complain(str(reason))
            return True
        try:
            on = self.cloud.machines()
        except CloudError as reason:
            self.complain(str(reason))
            self.give_up(wishes, str(reason))
            return True
        self.complain("")
        seen = Seen(time.time(), {node: on.get(name, False) for node, name in self.machines.items()}, states)
        settle(wishes, self.progress, seen)
        self.finish_calls()
        for step in list(steps(wishes, self.progress, seen, self.limit, self.boot_timeout)):
            if step.node not in self.calls:
                self.act(step)
        self.wishes.keep(self.progress)
        return True

    def act(self, step: Step) -> None:
        """Start a step in a thread, or mark its node as failed."""
        if step.act == "fail":
            self.fail(step.node, step.reason)
            return
        progress = self.progress[step.node]
        progress.called = time.time()
        if step.act == "on":
            progress.began = progress.began or progress.called
        say(f"{step.node}: switching it {step.act}")
        self.calls[step.node] = step, self.pool.submit(self.cloud.switch, self.machines[step.node], step.act)

    def finish_calls(self) -> None:
        """Remove the calls that have ended, and handle their errors."""
        for node, (step, call) in list(self.calls.items()):
            if call.done():
                del self.calls[node]
                error = call.exception()
                if error is not None and step.act == "on":
                    self.fail(node, f"cannot be started: {error}")
                elif error is not None:
                    say(f"{node}: cannot be switched off: {error}")

    def fail(self, node: str, reason: str) -> None:
        """Mark a node as down in Slurm, which requeues its jobs; its machine is switched off."""
        try:
            slurm.mark_down(node, reason)
        except SlurmError as error:
            say(str(error))  # the next cycle tries again
            return
        say(f"{node}: {reason}")
        if node in self.progress:
            self.progress[node].failed, self.progress[node].called = True, 0.0

    def give_up(self, wishes: dict[str, Wish], reason: str) -> None:
        """Mark nodes as failed if the cloud has not answered for `boot_timeout` seconds since their wish."""
        renew(wishes, self.progress)
        for node, wish in wishes.items():
            progress = self.progress[node]
            waited = time.time() - wish.since / 1e9
            if wish.power == "on" and not progress.done and not progress.failed and waited >= self.boot_timeout:
                self.fail(node, f"cannot be started: {reason}")

    def complain(self, reason: str) -> None:
        """Log the reason why no node can be switched, once and not in every cycle; "" when that is over."""
        if reason != self.complaint:
            say(f"doing nothing: {reason}" if reason else "working again")
        self.complaint = reason


def main(path: str) -> None:
    """Run the service forever with the settings of a file."""
    settings = json.loads(Path(path).read_text())
    elastic = Elastic(settings)
    say(f"{len(elastic.machines)} nodes are switched by {settings['driver']}")
    while True:
        try:
            moving = elastic.look()
        except OSError as error:  # the folder may be on a mount whose server is down
            elastic.complain(f"{error.filename}: {error.strerror}")
            moving = True
        time.sleep(CLOUD_LOOK if moving else LOOK)


def check(path: str) -> int:
    """Return 0 if the cloud has all machines; else print the reason and return 1."""
    settings = json.loads(Path(path).read_text())
    try:
        known = Cloud(settings["driver"], settings["arguments"], settings["credentials"]).machines()
    except CloudError as error:
        say(str(error))
        return 1
    missing = sorted(set(settings["machines"].values()) - known.keys())
    if missing:
        say(f"the cloud has no machine {', '.join(missing)}")
    return int(bool(missing))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        raise SystemExit(check(sys.argv[2]))
    main(sys.argv[1])
