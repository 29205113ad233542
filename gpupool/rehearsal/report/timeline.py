"""GPUs over time as SVG shapes: a row for each lab and one for the pool, with few points for a small page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from gpupool.rehearsal.finding import Finding, Moment

WIDTH = 1000  # of a drawing; the page scales it to the screen
UP, DOWN = 60, 18  # above the base line: GPUs held; below it: GPUs of preempted jobs that are pending again
_MOST_POINTS = 9000  # of all rows together
_CAPS_SHOWN = 4  # maximum height of a drawing in caps: even if a lab borrows more, its cap line is visible


class Point(NamedTuple):
    """The GPUs from `at` seconds until the next point."""

    at: float
    owned: int
    borrowed: int
    evicted: int

    @property
    def held(self) -> int:
        """Return owned and borrowed GPUs together."""
        return self.owned + self.borrowed


@dataclass(frozen=True)
class Row:
    """One lab, or the pool (no cap). `top` is the height of the drawing in GPUs."""

    name: str
    cap: int | None
    points: Sequence[Point]
    end: float
    top: int

    @property
    def most(self) -> Point:
        """Return the maximum of each kind, over the whole time."""
        owned, borrowed, evicted = (max((point[kind] for point in self.points), default=0) for kind in (1, 2, 3))
        return Point(0.0, int(owned), int(borrowed), int(evicted))

    @property
    def clipped(self) -> bool:
        """Return whether more GPUs were held than the drawing shows."""
        return any(point.held > self.top for point in self.points)

    @property
    def over_cap(self) -> int:
        """Return the maximum number of owned GPUs beyond the lab's cap."""
        return max(0, self.most.owned - self.cap) if self.cap is not None else 0

    @property
    def owned(self) -> str:
        """Return the shape of owned GPUs."""
        return self._shape((point.at, self._up(point.owned)) for point in self.points)

    @property
    def held(self) -> str:
        """Return the shape of owned and borrowed GPUs; the owned ones are drawn over it."""
        return self._shape((point.at, self._up(point.held)) for point in self.points)

    @property
    def over(self) -> str:
        """Return the shape of owned GPUs beyond the cap; "" if there are none."""
        if not self.over_cap or self.cap is None:
            return ""
        base, seen = self._up(self.cap), 3.0  # even a single GPU stays visible
        return self._shape(
            (
                (point.at, min(self._up(point.owned), base - seen) if point.owned > self.cap else base)
                for point in self.points
            ),
            base,
        )

    @property
    def evicted(self) -> str:
        """Return the shape of preempted GPUs below the base line; "" if no job was preempted."""
        most = self.most.evicted
        if not most:
            return ""
        deep = max(most, self.top * DOWN / UP)
        return self._shape((point.at, UP + DOWN * point.evicted / deep) for point in self.points)

    @property
    def cap_line(self) -> float | None:
        """Return the height of the cap line."""
        return None if self.cap is None else round(self._up(self.cap), 1)

    def _up(self, gpus: int) -> float:
        return UP - UP * min(gpus, self.top) / self.top

    def _shape(self, steps: Iterable[tuple[float, float]], base: float = UP) -> str:
        path, last = f"M0 {base:g}", f"{base:.4g}"
        for at, height in steps:
            if (now := f"{height:.4g}") != last:
                path += f"H{_across(at, self.end)}V{now}"
                last = now
        return f"{path}H{WIDTH}V{base:g}Z"


@dataclass(frozen=True)
class Phase:
    """The period in which one promise was tested; `number` is its line in the table, from 1."""

    promise: str
    number: int | None
    text: str
    left: float  # percent of the whole
    width: float


def lab_rows(moments: Sequence[Moment], caps: Mapping[str, int]) -> list[Row]:
    """Return a row for each lab with its cap, then a row for each other account that held GPUs."""
    seen = [
        name
        for moment in moments
        for held in (moment.owned, moment.borrowed, moment.evicted)
        for name in held
        if held[name]
    ]
    names = list(dict.fromkeys([*caps, *sorted(seen)]))
    end, most = end_of(moments), max(60, _MOST_POINTS // max(1, len(names)))
    rows = []
    for name in names:
        points = [
            Point(moment.at, moment.owned.get(name, 0), moment.borrowed.get(name, 0), moment.evicted.get(name, 0))
            for moment in moments
        ]
        cap, peak = caps.get(name), max((point.held for point in points), default=0)
        room = max(cap, min(peak, cap * _CAPS_SHOWN), max(point.owned for point in points)) if cap and points else peak
        rows.append(Row(name, cap, thinned(points, most), end, max(1, round(room * 1.08), room)))
    return rows


def pool_row(moments: Sequence[Moment], gpus: int) -> Row:
    """Return the row of the whole pool."""
    points = [
        Point(moment.at, sum(moment.owned.values()), sum(moment.borrowed.values()), sum(moment.evicted.values()))
        for moment in moments
    ]
    return Row("all labs", None, thinned(points, 600), end_of(moments), max(1, gpus))


def down_shape(moments: Sequence[Moment], gpus: int) -> str:
    """Return the shape of GPUs on lost nodes, drawn from the top; "" if no node was lost."""
    if not any(moment.down for moment in moments):
        return ""
    path, end = "M0 0", end_of(moments)
    for number, run in groupby(moments, key=lambda moment: moment.down):
        path += f"H{_across(next(run).at, end)}V{UP * min(number, gpus) / max(1, gpus):.4g}"
    return f"{path}H{WIDTH}V0Z"


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most about `most` points with the same shape: every peak and trough is kept."""
    changes = [next(run) for _, run in groupby(points, key=lambda point: point[1:])]
    if len(changes) <= most:
        return changes
    kept: list[Point] = []
    length = -(-len(changes) * 5 // most)
    for start in range(0, len(changes), length):
        few = changes[start : start + length]
        worth = {
            max(few, key=lambda moment: moment.owned),
            max(few, key=lambda moment: moment.held),
            min(few, key=lambda moment: moment.held),
        }
        kept += sorted({*worth, max(few, key=lambda moment: moment.evicted), few[-1]})
    return kept


def phases(moments: Sequence[Moment], findings: Sequence[Finding]) -> list[Phase]:
    """Return the periods of all promises, in order of time."""
    numbers = {finding.promise: number for number, finding in enumerate(findings, 1)}
    texts = {finding.promise: finding.text for finding in findings}
    runs = [(promise, next(run).at) for promise, run in groupby(moments, key=lambda moment: moment.promise)]
    end, stretches = end_of(moments), []
    for index, (promise, start) in enumerate(runs):
        stop = runs[index + 1][1] if index + 1 < len(runs) else end
        left, width = 100 * start / end, 100 * (stop - start) / end
        stretches.append(
            Phase(promise, numbers.get(promise), texts.get(promise, promise), round(left, 2), round(width, 2))
        )
    return stretches


def ticks(end: float) -> list[tuple[float, str]]:
    """Return up to nine marks of the time axis: percent of the whole, and minutes:seconds."""
    step = next((seconds for seconds in (5, 10, 15, 30, 60, 120, 300, 600, 1800) if end / seconds <= 8), 3600)
    return [(100 * at / end, f"{at // 60}:{at % 60:02}") for at in range(0, int(end) + 1, step)]


def end_of(moments: Sequence[Moment]) -> float:
    """Return the time of the last moment in seconds; never zero."""
    return max((moment.at for moment in moments), default=0) or 1.0


def _across(at: float, end: float) -> str:
    return f"{WIDTH * at / end:.1f}".removesuffix(".0")
