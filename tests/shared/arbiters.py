"""The arbiter of a twin with the settings of a test."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from gpupool.compile.slurm import arbiter
from gpupool.rehearsal.twin import Twin, boot, compiled


def restart_arbiter(twin: Twin, settings: Mapping[str, Any]) -> None:
    """Restart the arbiter with these settings, one cycle a second and a new log."""
    unit = compiled(twin.cluster).files[arbiter.UNIT]
    twin.do("pkill -f 'python3 .* -m arbiter'; while pgrep -f 'python3 .* -m arbiter'; do sleep 0.1; done", "its end")
    text = json.dumps({**settings, "interval": 1})
    # the guard holds for an account's limit only jobs that started an hour after the settings changed
    written = f"printf %s {shlex.quote(text)} > {arbiter.SETTINGS}; touch -d '2 hours ago' {arbiter.SETTINGS}"
    twin.do(f"{written}\n{boot.service(unit)}", "the arbiter")
