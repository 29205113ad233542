"""Print docs/requirements-status.md: the promises of five clusters to their users, and their tests."""

import sys
from collections import defaultdict
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PROMISES = ROOT / "tests" / "promises.tsv"
NOT_YET = ROOT / "tests" / "promises-not-yet.tsv"
#: Tests with real daemons and packages; all other tests check data and files.
LIVE = ("tests/testbed/", "tests/day2/", "tests/driver/", "tests/guides/", "tests/deploy/", "tests/vm/")
TESTBED = "testbed"  # the mark of tests in other folders that use a testbed
# SkyNet's scheduling policy: each of these has a live test, or a line in NOT_YET
POLICY_SECTIONS = ("B. Labs", "E. Running", "G. Overcap", "H. CPUs", "I. Partitions")
POLICY = {f"SKY-{number}" for number in (*range(187, 192), *range(205, 210))}
CLUSTERS = {
    "SKY": "SkyNet",
    "AAU": "AAU AI Cloud",
    "GCP": "a Slurm cluster on Google Cloud",
    "ARA": "Arandu",
    "SDU": "Santos Dumont",
}

HEAD = """\
<!-- Made from the tests' marks by script/docs: mark a test with `promise`, do not change this page. -->

# Promises with a test

Five real clusters tell their users what they may count on: {total} facts and behaviours, numbered in
[tests/promises.tsv](../tests/promises.tsv). A test that shows one names it (`@pytest.mark.promise("SKY-119")`).
**{held} of {total} promises have a test**: {live} on the real daemons of a testbed, {paper} are facts of an inventory
and shown there, and {half} (marked ◦) are so far shown on the inventory or its files only, though they want a live
cluster. {out} are out of scope, and {beyond} need a VM or a real GPU. Tests marked ∗ run in `script/test --full` only;
{long} promises have no other.

"""


class Promise(NamedTuple):
    """One promise: `how` is the way to test it (yes, yes-proved, render, VM, GPU, out)."""

    id: str
    how: str
    section: str
    text: str


class Shown(NamedTuple):
    """A test that names a promise; tests on real daemons sort first."""

    paper: bool
    path: str
    name: str


def promises() -> list[Promise]:
    """Return every promise, in the order of the guides."""
    lines = PROMISES.read_text(encoding="utf-8").splitlines()
    return [Promise(*line.split("\t")) for line in lines if not line.startswith("#")]


def not_yet() -> dict[str, str]:
    """Return, by promise, the reason why no test shows it on live daemons."""
    lines = NOT_YET.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if not line.startswith("#"))


class Collector:
    """A pytest plugin that records the tests of each promise."""

    def __init__(self) -> None:
        self.tests: dict[str, set[Shown]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Read the marks; a test with parameters counts once."""
        for item in items:
            for mark in item.iter_markers("promise"):
                path, _, name = item.nodeid.partition("[")[0].partition("::")
                live = path.startswith(LIVE) or item.get_closest_marker(TESTBED) is not None
                for promise in mark.args:
                    self.tests[promise].add(Shown(not live, path, name.rpartition("::")[2]))


def marked() -> dict[str, list[Shown]]:
    """Return the tests that name each promise, by collecting tests without running any. SystemExit if that fails."""
    collector, output = Collector(), StringIO()
    # only files with the mark: collecting all takes twice as long
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    files = [str(path) for path in every if "mark.promise(" in path.read_text(encoding="utf-8")]
    with redirect_stdout(output):
        quiet = ["-q", "--collect-only", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *files]
        # all tests, even if they only run on request
        quiet += ["-o", "addopts=", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
        code = pytest.main(quiet, plugins=[collector])
    if code:
        sys.exit(f"the tests cannot be collected:\n{output.getvalue()}")
    return {promise: sorted(tests) for promise, tests in collector.tests.items()}


def page(every: list[Promise], tests: dict[str, list[Shown]], reasons: dict[str, str]) -> str:
    """Return the page. SystemExit for a mark with an unknown promise, and if a promise or a reason is out of date."""
    if unknown := sorted({*tests, *reasons} - {promise.id for promise in every}):
        sys.exit(f"no such promise: {', '.join(unknown)}")
    live = [name for name in tests if any(not test.paper for test in tests[name])]
    if stale := sorted(set(reasons) & set(live)):
        sys.exit(f"shown on live daemons, and yet in {NOT_YET.name}: {', '.join(stale)}")
    wanted = {promise.id for promise in every if promise.how.startswith("yes") and _is_policy(promise)}
    if silent := sorted(wanted - set(live) - set(reasons)):
        sys.exit(f"without a live test and without a reason in {NOT_YET.name}: {', '.join(silent)}")
    out = sum(promise.how == "out" for promise in every)
    beyond = sum(promise.how in ("VM", "GPU") for promise in every)
    half = [promise.id for promise in every if promise.id in tests and _is_half(promise, tests[promise.id])]
    counts = {"held": len(tests), "live": len(live), "half": len(half), "paper": len(tests) - len(live) - len(half)}
    counts["long"] = sum(all(_is_long(test) for test in some) for some in tests.values())
    text = HEAD.format(total=len(every), out=out, beyond=beyond, **counts)
    text += "| cluster | promises | with a test | on a testbed | on the inventory only |\n|---|---|---|---|---|\n"
    for short, name in CLUSTERS.items():
        own = [promise.id for promise in every if promise.id.startswith(short)]
        shown = [len(set(own) & set(some)) for some in (tests, live, half)]
        text += f"| {name} | {len(own)} | {' | '.join(map(str, shown))} |\n"
    for short, name in CLUSTERS.items():
        text += f"\n## {name}\n" + _cluster(
            [promise for promise in every if promise.id.startswith(short)], tests, reasons
        )
    return text


def _cluster(every: list[Promise], tests: dict[str, list[Shown]], reasons: dict[str, str]) -> str:
    text = ""
    for section in dict.fromkeys(promise.section for promise in every):
        own = [promise for promise in every if promise.section == section]
        held = [promise for promise in own if promise.id in tests]
        text += f"\n### {section}: {len(held)} of {len(own)}\n\n"
        if held:
            text += "| number | promise | shown by |\n|---|---|---|\n"
        for promise in held:
            cell = promise.text.replace("|", "\\|")
            half = " ◦" if _is_half(promise, tests[promise.id]) else ""
            text += f"| {promise.id}{half} | {cell} | {', '.join(_link(test) for test in tests[promise.id])} |\n"
        if rest := [f"{promise.id}{_why(promise)}" for promise in own if promise.id not in tests]:
            text += ("\n" if held else "") + f"Without a test: {', '.join(rest)}.\n"
        if why := [
            f"- {promise.id}, not on a testbed: {reasons[promise.id]}." for promise in own if promise.id in reasons
        ]:
            text += "\n" + "\n".join(why) + "\n"
    return text


def _link(test: Shown) -> str:
    title = test.name.removeprefix("test_").replace("_", " ")
    return f"{'' if test.paper else 'testbed: '}[{title}](../{test.path}){' ∗' if _is_long(test) else ''}"


@cache
def _is_long(test: Shown) -> bool:
    from full import is_long

    return bool(is_long(f"{test.path}::{test.name}"))


def _is_policy(promise: Promise) -> bool:
    return promise.id in POLICY or (promise.id.startswith("SKY") and promise.section.startswith(POLICY_SECTIONS))


def _is_half(promise: Promise, tests: list[Shown]) -> bool:
    return promise.how != "render" and promise.how != "out" and not any(not test.paper for test in tests)


def _why(promise: Promise) -> str:
    return f" ({promise.how})" if promise.how in ("VM", "GPU", "out") else ""


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests" / "shared"), str(ROOT / "script")]
    print(page(promises(), marked(), not_yet()), end="")
