"""Decide which machines to switch: pure functions of the wishes and the observed state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .wishes import Progress, Wish

#: Seconds after which the cloud is called again for the same wish.
AGAIN = 60


@dataclass(frozen=True)
class Step:
    """Switch a node's machine `on` or `off`, or `fail` the node for a reason."""

    node: str
    act: Literal["on", "off", "fail"]
    reason: str = ""


@dataclass(frozen=True)
class Seen:
    """The observed state at a time: whether the machine of each node is on, and the flags of its state in Slurm."""

    now: float
    on: Mapping[str, bool]
    states: Mapping[str, set[str]]


def settle(wishes: Mapping[str, Wish], progress: dict[str, Progress], seen: Seen) -> None:
    """Mark wishes as done: the machine is off, or Slurm does not wait for the node any more."""
    for node in progress.keys() - wishes.keys():
        del progress[node]
    renew(wishes, progress)
    for node, wish in wishes.items():
        state = progress[node]
        on = seen.on.get(node, False)
        if wish.power == "off" or state.failed:
            state.done = state.done or not on
        else:
            # the node has joined, or Slurm has given up and will request `off`
            state.done = state.done or "POWERING_UP" not in seen.states.get(node, set())
            if on:
                # no pause after this call: a machine that was still stopping is started as soon as it is off
                state.began, state.called = state.began or seen.now, 0.0


def renew(wishes: Mapping[str, Wish], progress: dict[str, Progress]) -> None:
    """Reset the progress of each node whose wish is new."""
    for node, wish in wishes.items():
        if node not in progress or progress[node].since != wish.since:
            progress[node] = Progress(wish.since)


def steps(
    wishes: Mapping[str, Wish], progress: Mapping[str, Progress], seen: Seen, limit: int | None, boot_timeout: int
) -> Iterator[Step]:
    """Yield the steps to take now: at most `limit` nodes start at the same time, in the order of their wishes.

    `boot_timeout` is in seconds. A node that Slurm has set down stays on until Slurm powers it down, so that an admin
    can look at it.
    """
    open_wishes = sorted((node for node in wishes if not progress[node].done), key=lambda node: wishes[node].since)
    coming = [node for node in open_wishes if wishes[node].power == "on" and not progress[node].failed]
    coming = [node for node in coming if "DOWN" not in seen.states.get(node, set())]
    free = len(wishes) if limit is None else limit - sum(progress[node].began > 0 for node in coming)
    for node in open_wishes:
        state, on = progress[node], seen.on.get(node, False)
        due = seen.now - state.called >= AGAIN
        if node not in coming:
            if on and due and (wishes[node].power == "off" or state.failed):
                yield Step(node, "off")
        elif state.began and seen.now - state.began >= boot_timeout:
            yield Step(node, "fail", f"did not join within {boot_timeout} s of its start")
        elif not on and due and (state.began or free > 0):
            free -= not state.began
            yield Step(node, "on")
