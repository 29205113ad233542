"""The effects of a plan on services and jobs, for the screen and as a page for a pull request."""

import re
from collections.abc import Mapping

from gpupool.effect import NOTHING
from gpupool.engine.report import Report
from gpupool.wording import changed, counted

_FEW = 6  # nodes per effect that a page lists by name
_LEAST = "no restart"


def effects(report: Report) -> Mapping[str, list[str]]:
    """Return the nodes that change or wait, by the effect of their changes; the most disruptive effect first."""
    names: dict[str, list[str]] = {}
    for name, host in report.hosts.items():
        if host.changes or host.waits:
            names.setdefault(host.effect.what, []).append(name)
    return dict(sorted(names.items(), key=lambda group: (_weight(group[0]), group[0])))


def summary(report: Report) -> list[str]:
    """Return a line for each effect: `2 nodes: drain, 5 jobs wait for it`."""
    return [
        f"{counted(len(names), 'node')}: {_word(effect)}{_waiting(report, names)}"
        for effect, names in effects(report).items()
    ]


def jobs(report: Report) -> list[str]:
    """Return a line for each node with jobs that delay its change, or that its change would end; with id and user."""
    return [f"{name}: {', '.join(host.effect.jobs)}" for name, host in report.hosts.items() if host.effect.jobs]


def markdown(report: Report, last: str) -> str:
    """Return a page for a pull request: effects, failures, and all changes with their diffs folded."""
    rows = [
        f"| {_nodes(names)} | {_word(effect)}{_waiting(report, names)} |" for effect, names in effects(report).items()
    ]
    table = ["| nodes | effect |", "|---|---|", *rows, ""] if rows else []
    waiting = ["Jobs:", "", *(f"- {_text(line)}" for line in jobs(report)), ""] if jobs(report) else []
    failed = [f"- **{_text(name)}**: {_text(why)}" for name, why in report.failures.items()]
    parts = [f"**{_text(last)}**", "", *table, *waiting, *([*failed, ""] if failed else [])]
    for change, names in report.grouped.items():
        change_line = f"{_text(', '.join(names) if len(names) <= _FEW else _nodes(names))}: {_text(change.operation)}"
        cost = "" if change.effect.what == "nothing" else f" ({_text(change.effect.what)})"
        parts += [
            f"<details><summary>{change_line}{cost}</summary>",
            "",
            *_fenced(changed(change) or "no diff"),
            "",
            "</details>",
        ]
    return "\n".join(parts).rstrip() + "\n"


def _word(effect: str) -> str:
    return _LEAST if effect == NOTHING.what else effect


def _weight(effect: str) -> int:
    if effect == NOTHING.what:
        return 99
    order = ("drain", "restart slurmctld", "restart slurmdbd", "restart slurmd", "restart", "reconfigure")
    return next((place for place, part in enumerate(order) if part in effect), len(order))


def _waiting(report: Report, names: list[str]) -> str:
    count = len({job for name in names for job in report.hosts[name].effect.jobs})
    return f", {counted(count, 'job')} {'waits' if count == 1 else 'wait'} for it" if count else ""


def _nodes(names: list[str]) -> str:
    shown = ", ".join(names[:_FEW])
    return shown if len(names) <= _FEW else f"{shown} and {len(names) - _FEW} more"


def _fenced(text: str) -> list[str]:
    # a fence that is longer than any fence in the text
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}diff", text.rstrip("\n"), fence]


def _text(text: str) -> str:
    """Return text as Markdown shows it literally, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
