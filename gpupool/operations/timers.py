"""Timers that are no longer wanted: stopped, and their files taken away."""

import re
import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.files import Paths
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse

_UNIT = re.compile(r"/etc/systemd/system/([A-Za-z0-9:_.@-]+\.(?:timer|service))")


@operation()
def removed(paths: list[str], proof: str) -> Generator[StringCommand, None, None]:
    """Stop and disable those of `paths` that are units, and remove all of them, where their text holds `proof`.

    What does not hold it is somebody else's and stays. Timers are named before the services that they start.
    """
    there = this_host().get_fact(Paths, paths=paths, shown=dict.fromkeys(paths, "")) if paths else {}
    if there is None:
        yield from refuse(f"{paths[0]} and related files cannot be read: no answer within 60 s")
        return
    ours = [path for path in paths if (now := there.get(path)) and now.text is not None and proof in now.text]
    diffs.record(dict.fromkeys(ours, "will be removed\n"))
    if not ours:
        this_host().noop("nothing to remove")
        return
    for path in ours:
        upcoming.announce(path, upcoming.ABSENT)
    lines = ["set -eu"]
    for unit in (match[1] for path in ours if (match := _UNIT.fullmatch(path))):
        verb = ["disable", "--now"] if unit.endswith(".timer") else ["stop"]
        lines.append(shlex.join(["systemctl", "--quiet", *verb, "--", unit]))
    lines.append(shlex.join(["rm", "-f", "--", *ours]))
    if any(_UNIT.fullmatch(path) for path in ours):
        lines.append("systemctl daemon-reload")
    yield StringCommand("\n".join(lines))
