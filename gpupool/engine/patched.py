"""Python's threads and sockets replaced by gevent's. Import this module before paramiko and pyinfra."""

import sys
from importlib import metadata
from typing import Any

from gevent import monkey


def _patch() -> None:
    """Patch the standard library, with one look for plugins of gevent.

    gevent looks for them at each of 29 events, and each time Python reads the entry points of all installed packages.
    gevent has no option for it; where it looks once itself, this function is `monkey.patch_all()` alone.
    """
    module: Any = metadata
    look, plugins = metadata.entry_points, metadata.entry_points()
    module.entry_points = plugins.select
    try:
        # gevent warns if it replaces ssl after another module has imported it
        monkey.patch_all(ssl="ssl" not in sys.modules)
    finally:
        module.entry_points = look


if not monkey.is_module_patched("socket"):
    _patch()
