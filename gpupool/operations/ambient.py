"""The host that an operation is for, and whether commands are being run: pyinfra's ambient state, in one place."""

from typing import Any, cast

from pyinfra.api.host import Host
from pyinfra.context import ctx_host, ctx_state


def this_host() -> Host:
    """Return the host that the current operation is for."""
    return cast(Host, cast(Any, ctx_host).get())


def executing() -> bool:
    """Return whether commands are being run now, and not only planned."""
    return bool(run_state().is_executing)


def run_state() -> Any:
    """Return the state of the current run: its hosts, and which of them have failed."""
    return cast(Any, ctx_state).get()
