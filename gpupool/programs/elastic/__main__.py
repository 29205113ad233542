"""The service: look at the wishes, the machines and Slurm, and bring them together. A restart of it loses nothing."""

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

#: Seconds between two looks at the wishes, and while one is open at the cloud.
LOOK, CLOUD_LOOK = 1.0, 3.0
_CALLS = 64  # machines that are switched at the same time: the cloud may take minutes for each


def say(message: str) -> None:
    """Write a line for the journal."""
    print(message, flush=True)


class Elastic:
    """One look after the other. `settings` is /etc/gpupool/elastic.json."""

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
        """Do what is to be done now; return whether a wish is open."""
        wishes = {node: wish for node, wish in self.wishes.read().items() if node in self.machines}
        news = [node for node in wishes if node not in self.progress or self.progress[node].since != wishes[node].since]
        if not news and not self.calls and all(progress.done for progress in self.progress.values()):
            return False
        try:
            states = slurm.states(socket.gethostname())
        except SlurmError as why:
            self.complain(str(why))
            return True
        try:
            on = self.cloud.machines()
        except CloudError as why:
            self.complain(str(why))
            self.give_up(wishes, str(why))
            return True
        self.complain("")
        seen = Seen(time.time(), {node: on.get(name, False) for node, name in self.machines.items()}, states)
        settle(wishes, self.progress, seen)
        self.hear()
        for step in list(steps(wishes, self.progress, seen, self.limit, self.boot_timeout)):
            if step.node not in self.calls:
                self.act(step)
        self.wishes.keep(self.progress)
        return True

    def act(self, step: Step) -> None:
        """Begin a step."""
        if step.act == "fail":
            self.fail(step.node, step.reason)
            return
        its = self.progress[step.node]
        its.called = time.time()
        if step.act == "on":
            its.began = its.began or its.called
        say(f"{step.node}: switching it {step.act}")
        self.calls[step.node] = step, self.pool.submit(self.cloud.switch, self.machines[step.node], step.act)

    def hear(self) -> None:
        """Take what came of the calls that have ended."""
        for node, (step, call) in list(self.calls.items()):
            if call.done():
                del self.calls[node]
                error = call.exception()
                if error is not None and step.act == "on":
                    self.fail(node, f"cannot be started: {error}")
                elif error is not None:
                    say(f"{node}: cannot be switched off: {error}")

    def fail(self, node: str, reason: str) -> None:
        """Mark a node in Slurm, which requeues its jobs; its machine is switched off."""
        try:
            slurm.mark_down(node, reason)
        except SlurmError as why:
            say(str(why))  # the next look comes here again
            return
        say(f"{node}: {reason}")
        if node in self.progress:
            self.progress[node].failed, self.progress[node].called = True, 0.0

    def give_up(self, wishes: dict[str, Wish], reason: str) -> None:
        """Mark the nodes for which the cloud has not answered as long as a start may take."""
        renew(wishes, self.progress)
        for node, wish in wishes.items():
            its = self.progress[node]
            waited = time.time() - wish.since / 1e9
            if wish.power == "on" and not its.done and not its.failed and waited >= self.boot_timeout:
                self.fail(node, f"cannot be started: {reason}")

    def complain(self, reason: str) -> None:
        """Log why nothing is done, once and not at every look."""
        if reason != self.complaint:
            say(f"doing nothing: {reason}" if reason else "working again")
        self.complaint = reason


def main(path: str) -> None:
    """Run for ever with the settings of a file."""
    settings = json.loads(Path(path).read_text())
    elastic = Elastic(settings)
    say(f"{len(elastic.machines)} nodes are switched by {settings['driver']}")
    while True:
        try:
            moving = elastic.look()
        except OSError as error:  # the folder may be on a mount whose server is away
            elastic.complain(f"{error.filename}: {error.strerror}")
            moving = True
        time.sleep(CLOUD_LOOK if moving else LOOK)


def check(path: str) -> int:
    """Print what keeps nodes from being switched, and return 1; nothing and 0 where the cloud has all machines."""
    settings = json.loads(Path(path).read_text())
    try:
        known = Cloud(settings["driver"], settings["arguments"], settings["credentials"]).machines()
    except CloudError as why:
        say(str(why))
        return 1
    missing = sorted(set(settings["machines"].values()) - known.keys())
    if missing:
        say(f"the cloud has no machine {', '.join(missing)}")
    return int(bool(missing))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        raise SystemExit(check(sys.argv[2]))
    main(sys.argv[1])
