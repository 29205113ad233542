"""Crowds of jobs that several promises are tried with: the pool full of borrowers, labs at their caps."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpupool.rehearsal.expected_claims import Wish, reach, singles
from gpupool.rehearsal.stage import CYCLE, DELAY, Scene, Sent, Stage

TOLD = "/tmp/gpupool-told-%A.out"  # where jobs that cannot run again write to
CLEARLY = 3  # how many of them are in a crowd


def borrowers(stage: Stage) -> Sent:
    """Fill every GPU with jobs of one GPU that give way first, and give them; those there are already serve.

    A few of them cannot run again.
    """
    crowd = stage.crowd
    if crowd and not stage.claims:
        # those who had to go come back by themselves; for those that are gone for ever others come
        most = stage.expected.pool
        gone = most - sum(job.gpus for job in stage.look().of(crowd))
        if gone > 0:
            largest = max(crowd.wishes.values(), key=lambda wish: wish.count)
            crowd = stage.crowd = crowd | stage.send([replace(largest, count=gone)])
        again, _ = stage.until(partial(_full, crowd, most), stage.requeue + DELAY)
        if again:
            return crowd
    stage.empty()
    crowd = stage.crowd = stage.send(_crowd(stage))
    held, moved = 0, True
    # a machine that is busy with others starts some of them late: as long as one starts, the next may
    while moved and held < stage.expected.pool:
        moved, scene = stage.until(partial(_full, crowd, held + 1), stage.patience(stage.expected.pool - held))
        held = scene.gpus(crowd)
    return crowd


def _full(crowd: Sent, gpus: int, scene: Scene) -> bool:
    return scene.gpus(crowd) >= gpus


def crowd_of(stage: Stage) -> Sent:
    """Return the borrowers, if there are any."""
    return stage.crowd or Sent({})


def _crowd(stage: Stage) -> list[Wish]:
    loan, typed = stage.expected.loans[0], stage.expected.typed
    # by type where jobs must name one
    left: Counter[str | None] = Counter({None: stage.expected.pool})
    if typed:
        left = Counter(dict(stage.expected.types_in(loan.partition.name)))
    borrowed: list[Wish] = []
    for wishes in singles(stage.expected).values():
        for wish in wishes:
            number = min(left[wish.gpu_type], wish.count)
            borrowed.append(
                replace(wish, account=loan.account, partition=loan.partition.name, count=number, owned=False)
            )
            left[wish.gpu_type] -= number
    if borrowed:
        borrowed += [replace(borrowed[0], gpu_type=gpu, count=rest) for gpu, rest in left.items() if rest]
    if borrowed:
        # one at a time, from the largest: those that cannot run again write down what they are told
        largest = max(range(len(borrowed)), key=lambda index: borrowed[index].count)
        number = min(CLEARLY, borrowed[largest].count - 1)
        borrowed[largest] = replace(borrowed[largest], count=borrowed[largest].count - number)
        alone = replace(borrowed[largest], count=1, more=("--no-requeue", f"--output={TOLD}", f"--error={TOLD}"))
        borrowed = [*[alone] * number, *borrowed]
    return borrowed


def final(sent: Sent) -> list[str]:
    """Return the jobs that cannot run again."""
    return [number for number, wish in sent.wishes.items() if wish.more]


def claim(stage: Stage, wishes: Mapping[str, Sequence[Wish]]) -> dict[str, Sent]:
    """Hand in what several labs claim, all at once."""
    labs = [lab for lab in wishes for _ in wishes[lab]]
    sent = stage.send([wish for lab in wishes for wish in wishes[lab]])
    by_lab: dict[str, Sent] = {}
    for lab in dict.fromkeys(labs):
        mine = {number: wish for number, wish in sent.wishes.items() if wish.lab == lab}
        refused = [(wish, message) for wish, message in sent.refused if wish.lab == lab]
        by_lab[lab] = Sent(mine, refused, sent.at)
    stage.claims.update({lab: by_lab[lab] | stage.claims.get(lab, Sent({})) for lab in by_lab})
    return by_lab


def reached(stage: Stage, claims: Mapping[str, Sent], seconds: float) -> tuple[bool, Scene]:
    """Wait until every lab holds all that it claimed."""
    return stage.until(lambda scene: all(scene.gpus(sent) >= sent.gpus for sent in claims.values()), seconds)


def taken_back(stage: Stage, claims: Mapping[str, Sent], seconds: float) -> tuple[bool, Scene]:
    """Wait like `reached` while others have to go: as long as it gets on, three times as long at most.

    It ends where for a grace time and a round of slurmctld nobody goes and nothing starts.
    """
    crowd, began = crowd_of(stage), time.monotonic()
    held = (0, 0)

    def state(scene: Scene) -> tuple[int, int]:
        return sum(scene.gpus(sent) for sent in claims.values()), len(scene.evicted(crowd))

    wanted = sum(sent.gpus for sent in claims.values())
    while True:
        moved, scene = stage.until(partial(_moved, state, held), stage.grace + CYCLE + 5)
        held = state(scene)
        if held[0] >= wanted or not moved or time.monotonic() - began > 3 * seconds * stage.twin.pace():
            return held[0] >= wanted, scene


def _moved(state: Callable[[Scene], tuple[int, int]], before: tuple[int, int], scene: Scene) -> bool:
    return state(scene) != before


def lacking(scene: Scene, claims: Mapping[str, Sent]) -> list[str]:
    """Say which labs hold less than they claimed, and why as squeue has it."""
    wrong = []
    for lab, sent in claims.items():
        for wish, message in sent.refused:
            wrong.append(f"{lab}: a job of {wish.gpus} GPUs was refused: {message}")
        if scene.gpus(sent) < sent.gpus:
            wrong.append(f"{lab} holds {scene.gpus(sent)} of {sent.gpus} GPUs ({scene.reasons(sent)})")
    return wrong


def labs_full(stage: Stage) -> dict[str, Sent]:
    """Let every lab hold its cap, with nobody else running, and give their jobs; those there already serve."""
    wanted = sum(reach(wishes) for wishes in singles(stage.expected).values())
    if sum(sent.gpus for sent in stage.claims.values()) >= wanted:
        _again(stage)
        full, scene = reached(stage, stage.claims, stage.patience(wanted))
        if full and not scene.running(crowd_of(stage)):
            return stage.claims
    stage.empty()
    claims = claim(stage, singles(stage.expected))
    reached(stage, claims, stage.patience(wanted))
    return claims


def _again(stage: Stage) -> None:
    """Hand in again what labs claimed and somebody has cancelled since."""
    scene = stage.look()
    for lab, sent in list(stage.claims.items()):
        counts = Counter(job.array for job in scene.of(sent))
        left = {number: replace(wish, count=counts[number]) for number, wish in sent.wishes.items() if counts[number]}
        gone = [replace(wish, count=missing) for number, wish in sent.wishes.items()
                if (missing := wish.count - counts[number])]  # fmt: skip
        if gone:
            stage.claims[lab] = Sent(left, sent.refused, sent.at) | stage.send(gone)


def note_waits(stage: Stage, scene: Scene, sents: Iterable[Sent]) -> None:
    """Remember how long owners waited beyond the grace time of those that had to go."""
    for sent in sents:
        for job in scene.running(sent):
            if job.start is not None:
                stage.waits.append(max(0.0, job.start - sent.at - stage.grace))
