"""The results of daemons' own checks of files that are not on the node yet."""

import shlex
from collections.abc import Mapping, Sequence

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.facts.trial import Tried, packed
from gpupool.shell import shell_file

_LOOK = shell_file(__package__, "daemon_trials.sh")
_LIMIT = 180  # seconds, for all checks of a node
_UNTRIED = Tried(tried=False)


class DaemonTrials(Fact[dict[str, Tried]]):
    """The result of each of `checks` (the words of `operations.daemon_checks.command`), by the path of its first file.

    `texts` are the new files by path, as many as `trial.small` accepts. `complete`: no package is missing that an apply
    would install. The node's own files stay.
    """

    def command(
        self, checks: Sequence[Sequence[str]], texts: Mapping[str, str], complete: bool = False
    ) -> StringCommand:
        """Ask for all checks in one command."""
        calls = ["export GPUPOOL_COMPLETE=yes"] if complete else []
        for _, _, script, _, etc, *paths in checks:
            files = (word for path in paths for word in (path, packed(texts[path])))
            calls.append(shlex.join(["try", script, etc, *files]))
        return ask("\n".join([_LOOK, *calls]), limit=_LIMIT)

    def read(self, lines: list[str]) -> dict[str, Tried]:
        """Read the answer."""
        results = {}
        for line in lines:
            path, result = line.split("\t", 1)
            word, _, message = result.partition(" ")
            results[path] = _UNTRIED if word == "untried" else Tried(message)
        return results
