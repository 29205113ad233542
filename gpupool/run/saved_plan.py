"""A plan in a file: `plan --out` saves it, and `apply` makes exactly its changes, or none.

The file has names and SHA-256 sums, no text of a change: apply computes the plan again and compares. So nothing of the
file gets to a node, and a forged file can only allow what an apply of the same inventory would do anyway.
"""

import hashlib
import json
import os
import stat
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpupool import __version__
from gpupool.atomic import replace
from gpupool.change import Change
from gpupool.engine.report import HostReport, Report
from gpupool.errors import GpupoolError, UsageError
from gpupool.reasons import Code
from gpupool.run.runner import DeployRunner
from gpupool.target import Target
from gpupool.wording import counted, shortened

FORMAT = "gpupool-plan"
#: The version of the file's form; another one is refused.
FORMAT_VERSION = 1
_LARGEST = 100_000_000  # bytes; a plan of 10,000 nodes with 30 changes each has half of it
_AGAIN = "`gpupool plan --out FILE` saves a new plan"
_MOST = 4  # differences of a node that are named
_NEW, _OTHER, _GONE = "is not in the plan", "is another change than in the plan", "is no longer to be made"
_FIELDS = ("operation", "effect", "sha256")

#: The changes of a node: for each one its name, effect and sum.
Pending = tuple[tuple[str, str, str], ...]


class PlanChangedError(GpupoolError):
    """A saved plan is not what apply would do now; nothing was changed. The text names each difference."""


@dataclass(frozen=True)
class SavedPlan:
    """The changes of each node, and what they were computed from: gpupool's version, target, files of the inventory."""

    version: str
    cluster: str
    target: str
    inventory: Mapping[str, str]
    nodes: Mapping[str, Pending]
    made: str = ""

    def differences_of_inputs(self, target: Target) -> list[str]:
        """Return a line for each input that is not as it was: gpupool, the target, files of the inventory."""
        lines = []
        if self.version != __version__:
            lines.append(f"gpupool: the plan is of version {self.version}, this is {__version__}")
        if (self.cluster, self.target) != (target.cluster.name, _identity(target)):
            lines.append(
                f"target: the plan is for {self.target} of {self.cluster}, "
                f"this is {_identity(target)} of {target.cluster.name}"
            )
        files = sums(target.inventory)
        for name in sorted({*files, *self.inventory}):
            if name not in files:
                lines.append(f"{name}: was removed from the inventory")
            elif name not in self.inventory:
                lines.append(f"{name}: was added to the inventory")
            elif files[name] != self.inventory[name]:
                lines.append(f"{name}: was changed")
        known = {node.name for node in target.nodes}
        return [*lines, *(f"{name}: is no node any more" for name in self.nodes if name not in known)]

    def differences(self, foreseen: Mapping[str, tuple[Change, ...]]) -> dict[str, str]:
        """Return the differences of each node from the plan; `foreseen` has the changes of the nodes that answered."""
        found = {name: _difference(pending, _pending(foreseen[name])) if name in foreseen else _missing(pending)
                 for name, pending in self.nodes.items()}  # fmt: skip
        return {name: why for name, why in found.items() if why}

    def write(self, file: Path) -> None:
        """Write the plan, readable by this user alone, completely or not at all."""
        nodes = {name: [dict(zip(_FIELDS, each, strict=True)) for each in made] for name, made in self.nodes.items()}
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        replace(file, json.dumps({**head, **asdict(self), "nodes": nodes}, indent=1) + "\n", mode=0o600)


def saved_plan(report: Report, target: Target) -> SavedPlan:
    """Return the plan of a report without failures."""
    nodes = {name: _pending(host.changes) for name, host in report.hosts.items()}
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return SavedPlan(__version__, target.cluster.name, _identity(target), sums(target.inventory), nodes, made)


def ensure_writable(file: Path) -> None:
    """Raise UsageError, before a long run, if a plan cannot be written to a file or would replace other data."""
    if file.exists() and not is_saved_plan(file):
        raise UsageError(f"--out {file}: exists and is no saved plan: choose another file")
    if not os.access(file.parent, os.W_OK):
        why = "cannot be written" if file.parent.is_dir() else "there is no such folder"
        raise UsageError(f"--out {file}: {file.parent}: {why}")


def is_saved_plan(file: Path) -> bool:
    """Return whether a file looks like a saved plan, of any version."""
    try:
        return _parsed(file).get("format") == FORMAT
    except (OSError, ValueError):
        return False


def read(file: Path) -> SavedPlan:
    """Return the plan of a file; UsageError if it has none that this version of gpupool can read."""
    try:
        data = _parsed(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except ValueError:
        data = {}
    if data.get("format") != FORMAT:
        raise UsageError(f"{file}: is no saved plan: {_AGAIN}")
    if data.get("format_version") != FORMAT_VERSION:
        raise UsageError(f"{file}: is a plan of another version of gpupool: {_AGAIN}")
    try:
        return _validated(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{file}: is damaged: {_AGAIN}") from None


def apply_saved(runner: DeployRunner, file: Path, plan: SavedPlan, log: Path | None = None) -> Report:
    """Make exactly the changes of a plan; PlanChangedError, with nothing changed, if apply would now do anything else.

    Nodes that the plan does not have are left alone. The comparison is made while the nodes are locked.
    """
    inputs = plan.differences_of_inputs(runner.target)
    if inputs:
        raise PlanChangedError(_refusal(file, plan, inputs))
    found: dict[str, str] = {}

    def agree(foreseen: Mapping[str, tuple[Change, ...]]) -> Mapping[str, str]:
        found.update(plan.differences(foreseen))
        return found

    report = runner.apply({*plan.nodes}, log, agree=agree)
    report.ensure_not_interrupted()
    if not report.hosts:  # all are powered down
        agree({})
    failed = {name: why for name, why in report.failures.items() if not _is_held(report.hosts[name])}
    if found.keys() - failed.keys():
        raise PlanChangedError(_refusal(file, plan, _by_node({**found, **failed})))
    return report


def sums(inventory: Path | None) -> dict[str, str]:
    """Return the SHA-256 sum of each file of an inventory from which its nodes are made, by its name in the folder."""
    if inventory is None:
        return {}
    # imported here: shell completion imports this module, and reads no inventory
    from gpupool.cluster.attachments import attachments
    from gpupool.cluster.text import files_of

    texts = {file.name: file.read_bytes() for file in files_of(inventory)}
    attached, _ = attachments(inventory)
    texts |= {name: text.encode() for name, text in attached.items()}
    return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}


def _identity(target: Target) -> str:
    return f"the testbed {target.testbed.name}" if target.testbed else "the nodes"


def _pending(changes: tuple[Change, ...]) -> Pending:
    return tuple((change.operation, change.effect.what, _sum(change)) for change in changes)


def _sum(change: Change) -> str:
    """Return the sum of a change with its effect, without the jobs, which come and go."""
    data = {**asdict(change), "effect": change.effect.what}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _difference(planned: Pending, now: Pending) -> str:
    """Return the differences of a node in one line; "" if it would do what was planned."""
    gone, new = Counter(planned) - Counter(now), Counter(now) - Counter(planned)
    old_names, new_names = ({operation: None for operation, *_ in pending} for pending in (gone, new))
    lines = [f"{name} {_OTHER if name in old_names else _NEW}" for name in new_names]
    lines += [f"{name} {_GONE}" for name in old_names if name not in new_names]
    more = [f"and {len(lines) - _MOST} more differences"] if len(lines) > _MOST + 1 else []
    return "; ".join([*lines[:_MOST], *more] if more else lines)


def _missing(pending: Pending) -> str:
    return (
        f"is powered down or out of service, and has {counted(len(pending), 'change')} in the plan" if pending else ""
    )


def _is_held(host: HostReport) -> bool:
    return host.reason is not None and host.reason.code is Code.HELD


def _by_node(reasons: Mapping[str, str]) -> list[str]:
    """Return a line for each reason, with its nodes."""
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"{shortened(nodes)}: {why}" for why, nodes in names.items()]


def _refusal(file: Path, plan: SavedPlan, lines: list[str]) -> str:
    head = f"{file}: not applied, because this changed since the plan was made ({plan.made}); nothing was changed:"
    # words of the file begin no line
    return "\n".join([head, *(f"  {' '.join(line.split())}" for line in lines), _AGAIN])


def _parsed(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file, {} if it has other JSON; OSError, or ValueError if it has none."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError("not a file")
    with file.open("rb") as source:
        text = source.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ValueError("too large")
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return data if isinstance(data, dict) else {}


def _validated(data: dict[str, Any]) -> SavedPlan:
    """Return the plan of a parsed file; KeyError, TypeError, ValueError or AttributeError if it has another form."""
    nodes = {name: tuple((each["operation"], each["effect"], each["sha256"]) for each in made)
             for name, made in data["nodes"].items()}  # fmt: skip
    plan = SavedPlan(data["version"], data["cluster"], data["target"], data["inventory"], nodes, data["made"])
    texts = [plan.version, plan.cluster, plan.target, plan.made, *plan.inventory.values()]
    texts += [text for pending in nodes.values() for each in pending for text in each]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not all values are texts")
    return plan
