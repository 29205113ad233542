"""Replace Python's threads and sockets by gevent's. Import this module before paramiko and pyinfra."""

import sys
from importlib import metadata
from typing import Any

from gevent import monkey


def _patch() -> None:
    """Patch the standard library, with one search for plugins of gevent.

    gevent searches for plugins at each of 29 events, and each time Python reads the entry points of all installed
    packages. gevent has no option to avoid this, so `monkey.patch_all()` is not called.
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
