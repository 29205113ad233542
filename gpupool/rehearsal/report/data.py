"""The data of a rehearsal's report, for the page and, as JSON, for CI."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from gpupool.cluster.model import Cluster
from gpupool.documents.rehearsal import FindingEntry, MomentEntry, RehearseDocument, SettingEntry
from gpupool.rehearsal.finding import Finding, Moment, Outcome

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Setting:
    """A key of a file that differs between twin and production; without a key, the whole file differs."""

    file: str
    key: str
    production: str
    twin: str
    why: str


@dataclass(frozen=True)
class Rehearsed:
    """A finished rehearsal: `caps` are GPUs by lab, `nodes` and `gpus` are counts, `made` is when it began.

    `grace` is the longest grace time of a preempted job on the cluster, `waits` the times that owners' jobs waited on
    the twin beyond the grace time, both in seconds.
    `suspended` are texts on what is out of service on the real cluster, and which promises this suspends.
    `configured` is slurm.version of the inventory.
    """

    cluster: str
    version: str
    nodes: int
    gpus: int
    caps: Mapping[str, int]
    made: datetime
    seconds: float
    findings: Sequence[Finding]
    moments: Sequence[Moment]
    differences: Sequence[Setting] = ()
    change: str | None = None
    grace: int = 0
    waits: Sequence[float] = ()
    suspended: Sequence[str] = ()
    configured: str = ""

    @property
    def counts(self) -> dict[Outcome, int]:
        """Return the number of findings for each of the four outcomes."""
        return {outcome: sum(finding.outcome == outcome for finding in self.findings) for outcome in OUTCOMES}

    @property
    def not_rehearsed_with(self) -> str | None:
        """Return the release of Slurm that the cluster will run, if it is another one."""
        return self.configured if self.configured not in ("", self.version) else None

    @property
    def worst(self) -> Outcome:
        """Return `broken` or `void` if any finding is, otherwise `kept`."""
        worst: tuple[Outcome, ...] = ("broken", "void")
        return next((outcome for outcome in worst if self.counts[outcome]), "kept")

    def as_dict(self) -> RehearseDocument:
        """Return the rehearsal as plain JSON types."""
        return {
            "cluster": self.cluster,
            "change": self.change,
            "slurm": self.version,
            "not_rehearsed_with": self.not_rehearsed_with,
            "made": self.made.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 1),
            "nodes": self.nodes,
            "gpus": self.gpus,
            "caps": dict(self.caps),
            "counts": self.counts,
            "grace": self.grace,
            "waits": [round(wait, 1) for wait in self.waits],
            "findings": [_finding(finding) for finding in self.findings],
            "moments": [_moment(moment) for moment in self.moments],
            "suspended": list(self.suspended),
            "differences": [_setting(setting) for setting in self.differences],
        }


def caps_of(cluster: Cluster) -> dict[str, int]:
    """Return the GPU cap of each lab, in inventory order."""
    labs = [account for account in cluster.accounts.values() if account.entry.kind == "lab"]
    return {lab.name: cluster.owned_gpus(lab) or 0 for lab in labs}


@dataclass(frozen=True)
class LabReport:
    """A lab's part of a rehearsal: its cap, promises during which it held all of it, and most GPUs that it borrowed."""

    name: str
    cap: int
    full_in: int
    borrowed: int


def labs_of(rehearsed: Rehearsed) -> list[LabReport]:
    """Return the part of each lab, in the order of `caps`."""
    return [
        LabReport(
            name,
            cap,
            len({moment.promise for moment in rehearsed.moments if moment.owned.get(name, 0) >= cap}) if cap else 0,
            max((moment.borrowed.get(name, 0) for moment in rehearsed.moments), default=0),
        )
        for name, cap in rehearsed.caps.items()
    ]


def words_for(seconds: float) -> str:
    """Return a duration as text: `42 s`, `3 min 12 s`, `5 min`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if not minutes:
        return f"{whole} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def verdict(counts: Mapping[Outcome, int]) -> str:
    """Return the headline of the report."""
    tried = counts["kept"] + counts["broken"] + counts["void"]
    if not tried:
        return "No promise was tested"
    if counts["broken"]:
        if tried == 1:
            return "The promise was broken"
        return f"{counts['broken']} of {tried} promises {'was' if counts['broken'] == 1 else 'were'} broken"
    if counts["void"]:
        word = "guarantee is" if counts["void"] == 1 else "guarantees are"
        return f"No promise was broken, but {counts['void']} {word} void"
    return "The promise was kept" if tried == 1 else f"All {tried} promises were kept"


def _finding(finding: Finding) -> FindingEntry:
    return {
        "promise": finding.promise,
        "words": finding.text,
        "tried": finding.tried,
        "happened": finding.happened,
        "outcome": finding.outcome,
        "seconds": round(finding.seconds, 2),
        "requirements": list(finding.requirements),
    }


def _moment(moment: Moment) -> MomentEntry:
    return {
        "at": round(moment.at, 2),
        "promise": moment.promise,
        "owned": _some(moment.owned),
        "borrowed": _some(moment.borrowed),
        "evicted": _some(moment.evicted),
        "idle": moment.idle,
        "down": moment.down,
    }


def _some(by_lab: Mapping[str, int]) -> dict[str, int]:
    return {lab: count for lab, count in by_lab.items() if count}


def _setting(setting: Setting) -> SettingEntry:
    return {
        "file": setting.file,
        "key": setting.key,
        "production": setting.production,
        "twin": setting.twin,
        "why": setting.why,
    }
