"""A rehearsal as one page for people: everything is in it, and opening it asks the network for nothing."""

import json
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpupool.rehearsal import timeline
from gpupool.rehearsal.finding import Outcome
from gpupool.rehearsal.page_data import OUTCOMES, Rehearsed, verdict, words_for
from gpupool.rehearsal.timeline import Row
from gpupool.template import TEMPLATES

# told apart by sign and word, never by colour alone
SIGNS: dict[Outcome, str] = {"kept": "✓", "broken": "✗", "void": "!", "not made": "–"}


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(it: Rehearsed) -> str:
    """Return the whole page as HTML."""
    pool, rows = timeline.pool_row(it.moments, it.gpus), timeline.lab_rows(it.moments, it.caps)
    end = timeline.end_of(it.moments)
    return (
        _environment()
        .get_template("rehearsal.html.j2")
        .render(
            it=it,
            verdict=verdict(it.counts),
            worst=it.worst,
            counts=[(outcome, it.counts[outcome]) for outcome in OUTCOMES if it.counts[outcome]],
            signs=SIGNS,
            took=words_for(it.seconds),
            words_for=words_for,
            pool=pool,
            rows=rows,
            sum_up=sum_up,
            down=timeline.down_shape(it.moments, it.gpus),
            phases=timeline.phases(it.moments, it.findings),
            ticks=timeline.ticks(end),
            numbers=_numbers([pool, *rows], end),
            up=timeline.UP,
            height=timeline.UP + timeline.DOWN,
        )
    )


def sum_up(row: Row) -> str:
    """Say what a lab held, in a sentence."""
    most = row.most
    if row.cap is None:
        parts = [f"held up to {most.held} GPUs" if most.held else "held no GPU"]
    elif row.over_cap:
        parts = [f"held {most.owned}, which is {row.over_cap} more than its cap of {row.cap}"]
    else:
        reached = "all" if most.owned == row.cap else f"up to {most.owned}"
        parts = [f"held {reached} of its {row.cap}" if most.owned else f"requested none of its {row.cap}"]
        if most.borrowed:
            parts.append(f"borrowed up to {most.borrowed}")
    if most.evicted:
        parts.append(f"up to {most.evicted} evicted")
    return ", ".join(parts)


def _numbers(rows: list[Row], end: float) -> str:
    """Return the points as JSON for the line that follows the pointer; safe inside a script element."""
    found = [[[round(point.at, 1), *point[1:]] for point in row.points] for row in rows]
    return json.dumps({"end": round(end, 1), "rows": found}, separators=(",", ":")).replace("<", "\\u003c")
