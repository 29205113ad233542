"""The command line, with the nodes of a testbed reached like real nodes, by `access.admin` and ~/.ssh/config."""

from dataclasses import replace
from typing import Any

import gpupool.target
from gpupool.target import Target

_find_target = gpupool.target.find_target


def _as_nodes(*arguments: Any, **named: Any) -> Target:
    return replace(_find_target(*arguments, **named), testbed=None, ssh={})


gpupool.target.find_target = _as_nodes

from gpupool.cli import main  # noqa: E402  # commands take the function above

main()
