"""A rehearsal as one HTML page, which loads nothing from the network."""

import json
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpupool.compile.template import TEMPLATES
from gpupool.rehearsal.finding import Outcome
from gpupool.rehearsal.report import timeline
from gpupool.rehearsal.report.data import OUTCOMES, Rehearsed, labs_of, verdict, words_for
from gpupool.rehearsal.report.timeline import Row

# outcomes differ in sign and word, not only in colour
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


def page(rehearsed: Rehearsed) -> str:
    """Return the whole page as HTML."""
    pool, rows = (
        timeline.pool_row(rehearsed.moments, rehearsed.gpus),
        timeline.lab_rows(rehearsed.moments, rehearsed.caps),
    )
    end = timeline.end_of(rehearsed.moments)
    return (
        _environment()
        .get_template("rehearsal.html.j2")
        .render(
            rehearsed=rehearsed,
            verdict=verdict(rehearsed.counts),
            worst=rehearsed.worst,
            counts=[(outcome, rehearsed.counts[outcome]) for outcome in OUTCOMES if rehearsed.counts[outcome]],
            signs=SIGNS,
            took=words_for(rehearsed.seconds),
            words_for=words_for,
            labs=labs_of(rehearsed),
            numbered=list(enumerate(rehearsed.findings, 1)),
            pool=pool,
            rows=rows,
            sum_up=sum_up,
            down=timeline.down_shape(rehearsed.moments, rehearsed.gpus),
            phases=timeline.phases(rehearsed.moments, rehearsed.findings),
            ticks=timeline.ticks(end),
            numbers=_numbers([pool, *rows], end),
            up=timeline.UP,
            height=timeline.UP + timeline.DOWN,
        )
    )


def sum_up(row: Row) -> str:
    """Return a sentence on the GPUs that a lab held."""
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
    """Return the points of the rows as JSON that is safe inside a script element, for the page's pointer."""
    points = [[[round(point.at, 1), *point[1:]] for point in row.points] for row in rows]
    return json.dumps({"end": round(end, 1), "rows": points}, separators=(",", ":")).replace("<", "\\u003c")
