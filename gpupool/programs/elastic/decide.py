"""What to do about the wishes, as a function of what is seen; it calls nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .wishes import Progress, Wish

#: Seconds after which the cloud is told once more.
AGAIN = 60


@dataclass(frozen=True)
class Step:
    """Switch a node's machine `on` or `off`, or `fail` the node for a reason."""

    node: str
    act: Literal["on", "off", "fail"]
    reason: str = ""


@dataclass(frozen=True)
class Seen:
    """What is seen at a moment: whether the machine of each node is on, and the words of its state in Slurm."""

    now: float
    on: Mapping[str, bool]
    states: Mapping[str, set[str]]


def settle(wishes: Mapping[str, Wish], progress: dict[str, Progress], seen: Seen) -> None:
    """Note which wishes are done with: the machine is off, or Slurm waits for the node no more."""
    for node in progress.keys() - wishes.keys():
        del progress[node]
    renew(wishes, progress)
    for node, wish in wishes.items():
        its = progress[node]
        on = seen.on.get(node, False)
        if wish.power == "off" or its.failed:
            its.done = its.done or not on
        else:
            # it came, or Slurm has given up and will wish it off
            its.done = its.done or "POWERING_UP" not in seen.states.get(node, set())
            if on:
                # one that was still on its way off will be seen off again, and is then started at once
                its.began, its.called = its.began or seen.now, 0.0


def renew(wishes: Mapping[str, Wish], progress: dict[str, Progress]) -> None:
    """Begin from nothing with each wish that is a new one."""
    for node, wish in wishes.items():
        if node not in progress or progress[node].since != wish.since:
            progress[node] = Progress(wish.since)


def steps(
    wishes: Mapping[str, Wish], progress: Mapping[str, Progress], seen: Seen, limit: int | None, boot_timeout: int
) -> Iterator[Step]:
    """Yield what is to be done now: at most `limit` nodes start at once, in the order in which they were wished for.

    `boot_timeout` is in seconds. A node that is marked already stays on until Slurm gives it up: an admin can look.
    """
    open_wishes = sorted((node for node in wishes if not progress[node].done), key=lambda node: wishes[node].since)
    coming = [node for node in open_wishes if wishes[node].power == "on" and not progress[node].failed]
    coming = [node for node in coming if "DOWN" not in seen.states.get(node, set())]
    free = len(wishes) if limit is None else limit - sum(progress[node].began > 0 for node in coming)
    for node in open_wishes:
        its, on = progress[node], seen.on.get(node, False)
        due = seen.now - its.called >= AGAIN
        if node not in coming:
            if on and due and (wishes[node].power == "off" or its.failed):
                yield Step(node, "off")
        elif its.began and seen.now - its.began >= boot_timeout:
            yield Step(node, "fail", f"did not join within {boot_timeout} s of its start")
        elif not on and due and (its.began or free > 0):
            free -= not its.began
            yield Step(node, "on")
