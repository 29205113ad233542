"""The report of a rehearsal: self-contained in one file, with every lab, and complete for a reader."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rehearsed import CAPS, rehearsal

from gpupool.rehearsal.finding import Finding, Moment
from gpupool.rehearsal.report import timeline
from gpupool.rehearsal.report.data import OUTCOMES, verdict, words_for
from gpupool.rehearsal.report.page import page
from gpupool.rehearsal.report.timeline import Point, Row, thinned

_VOID = {"meta", "link", "br", "hr", "img", "input"}  # elements of HTML without an end tag


class _Page(HTMLParser):
    """Its elements with their attributes, and its visible text; an unclosed element is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data

    def all(self, key: str) -> list[str]:
        return [value for _, attrs in self.elements if (value := attrs.get(key))]


@pytest.fixture(scope="module", params=[False, True], ids=["kept", "broken"])
def html(request: pytest.FixtureRequest) -> str:
    return page(rehearsal(broken=request.param))


def test_the_page_loads_nothing_from_the_network(html: str) -> None:
    parsed = _Page(html)
    for key in ("src", "srcset", "href", "xlink:href", "action", "data", "poster", "background"):
        assert [address for address in parsed.all(key) if not address.startswith(("#", "data:,"))] == [], key
    assert not re.search(r"https?:|url\(|@import|\bfetch\b|XMLHttpRequest|import\(|//[a-z0-9-]+\.[a-z]", html)
    assert "default-src 'none'" in " ".join(parsed.all("content"))
    assert not {tag for tag, _ in parsed.elements} & {"iframe", "object", "embed", "audio", "video", "img"}


def test_every_lab_has_a_row_with_a_title_and_a_description(html: str) -> None:
    parsed = _Page(html)
    assert parsed.all("data-lab") == list(CAPS)
    drawings = [attrs for tag, attrs in parsed.elements if tag == "svg" and attrs.get("role") == "img"]
    ids = set(parsed.all("id"))
    assert len(drawings) == len(CAPS) + 1  # and the pool
    assert all(set((drawing["aria-labelledby"] or "").split()) <= ids for drawing in drawings)
    assert len(parsed.all("id")) == len(ids)


def test_every_link_of_the_page_has_a_target(html: str) -> None:
    parsed = _Page(html)
    assert {link[1:] for link in parsed.all("href") if link.startswith("#")} <= set(parsed.all("id"))


def test_the_page_describes_every_promise() -> None:
    rehearsed = rehearsal()
    text = _Page(page(rehearsed)).text
    for finding in rehearsed.findings:
        assert all(part in text for part in (finding.text, finding.happened, finding.outcome))
        assert finding.tried in text or finding.outcome == "not made"
    for difference in rehearsed.differences:
        assert all(part in text for part in vars(difference).values())
    for part in ("skynet", "Slurm 24.11", "21 November 2026", "36 nodes, 284 GPUs", "3 min 51 s"):
        assert part in text


def test_the_headline_and_the_row_name_the_broken_promise() -> None:
    text = _Page(page(rehearsal(broken=True))).text
    assert "1 of 16 promises was broken" in text
    assert "held 33, which is 1 more than its cap of 32" in text
    assert "No promise was broken, but 1 guarantee is void" in _Page(page(rehearsal())).text


def test_the_page_has_the_real_wait_and_a_line_for_each_lab() -> None:
    text = _Page(page(rehearsal())).text
    assert "waits for up to 5 min 3 s on the cluster: the grace time of 5 min" in text
    rows = re.findall(r'<tr><th scope="row">([\w-]+)</th><td [^>]*>(\d+)</td><td [^>]*>(\d+)<', page(rehearsal()))
    assert [(name, int(cap)) for name, cap, _ in rows] == list(CAPS.items())
    assert all(int(full_in) > 0 for _, _, full_in in rows)


def test_numbers_of_requirements_stay_out_of_the_page() -> None:
    assert rehearsal().findings[0].requirements == ("SKY-100",)
    assert "SKY-" not in _Page(page(rehearsal())).text


def test_names_of_labs_are_not_markup() -> None:
    rehearsed = rehearsal()
    bad = "</script><script>alert(1)</script><b>"
    rehearsed = replace(
        rehearsed, findings=[replace(rehearsed.findings[0], text=bad, happened=bad)], cluster=bad, caps={bad: 3}
    )
    html = page(rehearsed)
    assert bad not in html
    assert bad in _Page(html).text
    assert _Page(html).all("data-lab")[0] == bad


def test_a_rehearsal_without_moments_has_a_page_too() -> None:
    rehearsed = replace(rehearsal(), moments=[], findings=[])
    parsed = _Page(page(rehearsed))
    assert parsed.all("data-lab") == list(CAPS)
    assert "No promise was tested" in parsed.text


@pytest.mark.parametrize(("labs", "per_second"), [(14, 2.5), (100, 3.0)])
def test_the_page_is_small(labs: int, per_second: float) -> None:
    rehearsed = rehearsal(labs=labs, per_second=per_second)
    assert len(rehearsed.moments) > 500
    html = page(rehearsed)
    assert len(html.encode()) < 1_000_000
    assert len(_Page(html).all("data-lab")) == labs


def test_an_account_that_is_not_a_lab_has_a_row_if_it_held_gpus() -> None:
    moment = Moment(1.0, "cap", {"guest": 2}, {}, {}, 2)
    assert [(row.name, row.cap) for row in timeline.lab_rows([moment], {"a-lab": 4})] == [("a-lab", 4), ("guest", None)]


def test_phases_have_the_numbers_of_the_table() -> None:
    rehearsed = rehearsal()
    phases = timeline.phases(rehearsed.moments, rehearsed.findings)
    assert [phase.number for phase in phases] == list(range(1, 17))
    assert sum(phase.width for phase in phases) == pytest.approx(100, abs=0.2)


def test_the_document_is_valid_and_complete_json() -> None:
    rehearsed = rehearsal(broken=True)
    document = json.loads(json.dumps(rehearsed.as_dict()))
    assert document["counts"] == {"kept": 14, "broken": 1, "void": 1, "not made": 1}
    assert len(document["findings"]) == 17
    keys = ["promise", "words", "tried", "happened", "outcome", "seconds", "requirements"]
    assert list(document["findings"][0]) == keys
    assert document["findings"][0]["words"] == rehearsed.findings[0].text
    assert len(document["moments"]) == len(rehearsed.moments)
    assert (document["slurm"], document["not_rehearsed_with"]) == ("24.11", None)
    assert document["moments"][8]["owned"]["kira-lab"] == 33


@pytest.mark.parametrize(
    ("kept", "broken", "void", "headline"),
    [
        (0, 0, 0, "No promise was tested"),
        (1, 0, 0, "The promise was kept"),
        (9, 0, 0, "All 9 promises were kept"),
        (0, 1, 0, "The promise was broken"),
        (8, 1, 1, "1 of 10 promises was broken"),
        (8, 2, 0, "2 of 10 promises were broken"),
        (8, 0, 2, "No promise was broken, but 2 guarantees are void"),
    ],
)
def test_the_verdict_counts_each_outcome(kept: int, broken: int, void: int, headline: str) -> None:
    assert verdict(dict(zip(OUTCOMES, (kept, broken, void, 4), strict=True))) == headline


def test_durations_are_written_in_minutes_and_seconds() -> None:
    assert [words_for(seconds) for seconds in (0.2, 59.4, 59.6, 192)] == ["0 s", "59 s", "1 min", "3 min 12 s"]


# Thinning

_counts = st.integers(0, 300)
_points = st.lists(st.tuples(_counts, _counts, _counts), min_size=1, max_size=400).map(
    lambda held: [Point(float(at), *gpus) for at, gpus in enumerate(held)]
)


@given(_points, st.integers(20, 200))
def test_thinning_keeps_every_peak_and_the_order(points: list[Point], most: int) -> None:
    kept = thinned(points, most)
    assert len(kept) <= most + 5
    assert set(kept) <= set(points)
    assert [point.at for point in kept] == sorted({point.at for point in kept})
    for drawn in (attrgetter("owned"), attrgetter("held"), attrgetter("evicted")):
        assert max(map(drawn, kept)) == max(map(drawn, points))
    assert kept[-1][1:] == points[-1][1:]


@given(_points)
def test_every_moment_above_a_cap_is_drawn_after_thinning(points: list[Point]) -> None:
    cap = 250
    row = Row("x-lab", cap, thinned(points, 30), points[-1].at or 1.0, 300)
    assert bool(row.over) == any(point.owned > cap for point in points)


@given(_points, st.integers(1, 64))
def test_shapes_are_inside_their_drawing(points: list[Point], cap: int) -> None:
    moments = [
        Moment(point.at, "p", {"a": point.owned}, {"a": point.borrowed}, {"a": point.evicted}, 0) for point in points
    ]
    (row,) = timeline.lab_rows(moments, {"a": cap})
    for shape in (row.owned, row.held, row.over, row.evicted):
        across = [float(number) for number in re.findall(r"H([\d.]+)", shape)]
        down = [float(number) for number in re.findall(r"V([\d.]+)", shape)]
        assert across == sorted(across)
        assert all(0 <= number <= timeline.WIDTH for number in across)
        assert all(0 <= number <= timeline.UP + timeline.DOWN for number in down)
    assert row.top >= max(cap, row.most.owned)


def test_a_finding_of_a_sites_promise_is_on_the_page() -> None:
    own = Finding("our-own", "Ours holds", "x", "y", "kept", 1.0)
    assert "our-own" in _Page(page(replace(rehearsal(), findings=[own]))).text
