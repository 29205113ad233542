"""pyinfra's global state in one place: the host of the current operation, and whether commands are run."""

from typing import Any, cast

from pyinfra.api.host import Host
from pyinfra.context import ctx_host, ctx_state


def this_host() -> Host:
    """Return the host of the current operation."""
    return cast(Host, cast(Any, ctx_host).get())


def executing() -> bool:
    """Return whether this run executes commands, instead of only planning them."""
    return bool(run_state().is_executing)


def run_state() -> Any:
    """Return the state of the current run: its hosts, and which of them have failed."""
    return cast(Any, ctx_state).get()
