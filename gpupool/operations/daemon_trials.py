"""Refuse files that a daemon would refuse: in a plan, and before the first change of an apply.

`files.put` installs no file that its daemon refuses (`daemon_checks`). But then an apply has begun: other files and
other nodes are changed. So a plan has the daemons try all new files of a node, late in its deploy and in one command.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from gpupool.facts.daemon_trials import DaemonTrials
from gpupool.facts.packages import Packages
from gpupool.facts.trial import small
from gpupool.operations import daemon_checks, diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Refused, look, operation

_waiting: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def await_trial(texts: Mapping[str, str]) -> None:
    """Have `tried` look at new files of the current host, by path, in this plan."""
    _waiting.setdefault(this_host(), {}).update(texts)


@operation
def tried(packages: list[str] | None = None) -> None:
    """Refuse if a daemon's own check refuses files that wait for a trial; a note names files without a trial.

    `packages` are those of the node: a missing one may be the interpreter of a program.
    """
    texts = _waiting.get(this_host(), {})
    checks = daemon_checks.checks(texts)
    checked = {path: text for path, text in texts.items() if any(path in command for _, command in checks)}
    if checks:
        commands = [command for _, command in checks]
        what = "whether daemons accept their new files"
        complete = packages is not None and daemon_checks.has_programs(texts) and _all_there(packages)
        results = look(DaemonTrials, what, checks=commands, texts=checked, complete=complete) if small(checked) else {}
        refusals = {path: of.refused for path, of in results.items() if of.refused}
        if wrong := [f"{path}: refused, nothing is replaced: {message}" for path, message in refusals.items()]:
            raise Refused("; ".join(wrong))
        for path, _ in checks:
            if path not in results or not results[path].tried:
                diffs.note(not_tried(path))
    this_host().noop("no daemon refuses its new files")


def _all_there(packages: list[str]) -> bool:
    return not set(packages).difference(look(Packages, "the installed packages", packages=packages).installed)


def not_tried(path: str) -> str:
    """Return the note on a file that a plan cannot try."""
    return f"{path} was not tried: apply tries it before it is replaced"
