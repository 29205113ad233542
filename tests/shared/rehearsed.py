"""A made-up rehearsal: SkyNet's labs, its promises one after the other, GPUs used as jobs would use them."""

import random
from datetime import UTC, datetime
from pathlib import Path

import yaml

from gpupool.rehearsal.finding import Finding, Moment
from gpupool.rehearsal.report.data import Rehearsed, Setting

CAPS = {
    **{"essa-lab": 16, "hays-lab": 16, "kira-lab": 32, "hoffman-lab": 32, "nlprx-lab": 32, "ha-lab": 16, "ei-lab": 12},
    **{"rail-lab": 8, "rehg-lab": 12, "tail-lab": 8, "rl2-lab": 24, "ravichandar-lab": 8, "wu-lab": 4, "cvmlp-lab": 64},
}

_ROWS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text())


def rehearsal(*, broken: bool = False, per_second: float = 1.0, labs: int = 14) -> Rehearsed:
    """Return a whole rehearsal, the same each time; `broken` lets one lab own one GPU too many."""
    dice = random.Random(7)
    caps = CAPS if labs == 14 else {f"lab{index:03}-lab": dice.choice((4, 8, 16, 32)) for index in range(labs)}
    gpus = sum(caps.values())
    moments: list[Moment] = []
    findings = []
    at = 0.0
    for row in _ROWS["promises"]:
        key, seconds = row["promise"], row["seconds"]
        for step in range(round(seconds * per_second)):
            moments.append(_moment(at, key, step / (seconds * per_second), caps, gpus, broken))
            at += 1 / per_second
        if broken and key == "cap":
            row = {**row, "outcome": "broken", "happened": "kira-lab held 33 GPUs: one more than it put in"}
        findings.append(Finding(**{"outcome": "kept", "requirements": ("SKY-100",), **row}))
    return Rehearsed(
        cluster="skynet",
        version="24.11",
        nodes=36,
        gpus=gpus,
        caps=caps,
        made=datetime(2026, 11, 21, 11, 20, tzinfo=UTC),
        seconds=at + 21,
        findings=findings,
        moments=moments,
        grace=300,
        waits=[1.2, 2.8],
        differences=[Setting(**row) for row in _ROWS["differences"]],
    )


def _moment(at: float, key: str, part: float, caps: dict[str, int], gpus: int, broken: bool) -> Moment:
    """Return the GPUs in use after a part (0 to 1) of a promise's time."""
    names = list(caps)
    owned, borrowed, evicted = dict.fromkeys(names, 0), dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    down, spread = 0, {name: max(1, gpus // len(names)) for name in names}
    up = min(1.0, part * 4) if part < 0.85 else max(0.0, (1 - part) / 0.15)  # usage rises, stays constant, then falls
    match key:
        case "cap" | "cap-cpus" | "cap-nodes" | "owners-stay" | "lost-node":
            owned = {name: round(cap * up) for name, cap in caps.items()}
            if broken and key == "cap" and 0.4 < part < 0.8 and "kira-lab" in owned:
                owned["kira-lab"] += 1
                owned["cvmlp-lab"] -= 1
            if key == "lost-node" and 0.4 < part < 0.8:
                down, owned[names[3]] = 8, max(0, owned[names[3]] - 8)
        case "reclaim-each":
            turn = int(part * len(names))
            owned[names[turn]] = round(caps[names[turn]] * min(1.0, (part * len(names) % 1) * 2))
            taken = owned[names[turn]]
            borrowed = {name: max(0, number - taken // len(names)) for name, number in spread.items()}
            evicted = {name: taken // len(names) for name in names}
        case "reclaim-all" | "requeue":
            back = min(1.0, max(0.0, part - 0.3) * 3)
            back = back if key == "reclaim-all" else 1 - part
            owned = {name: round(cap * back) for name, cap in caps.items()}
            borrowed = {name: round(number * (1 - back)) for name, number in spread.items()}
            evicted = {name: round(number * back) for name, number in spread.items()}
        case "overcap-first" | "neighbour-cpus":
            borrowed = {name: round(spread[name] * up) for name in names[::2]}
            owned[names[2]] = round(caps[names[2]] * (0.4 if key == "neighbour-cpus" else up))
        case _:
            owned[names[int(part * 5) % len(names)]] = 5
    idle = gpus - down - sum(owned.values()) - sum(borrowed.values())
    if idle < 0:
        name = max(borrowed, key=lambda lab: borrowed[lab])
        borrowed[name] = max(0, borrowed[name] + idle)
        idle = 0
    return Moment(at, key, owned, borrowed, evicted, idle, down)
