"""`health SETTINGS`: check this node; drain it if a check fails, resume it when all pass again.

slurmd runs it as root, kills it after 60 s, and waits for it at its start. The exit code is always 0: slurmd would only
log another one.
"""

import fcntl
import json
import sys
import syslog
from pathlib import Path

from . import look, mounts, node

#: Empty folder after a boot. Its file `fine` exists if all checks passed and this program has not drained the node.
STATE = Path("/run/gpupool/health")


def problems(settings: dict[str, object], state: Path) -> list[str]:
    """Return all faults in a fixed order; mounts take at most 10 s, GPUs 20 s, the clock 5 s."""
    wrong = []
    if isinstance(gpus := settings.get("gpus"), dict):
        wrong += look.gpus(gpus["count"], gpus["program"], state, gpus.get("out_of_service", ()))
    if isinstance(paths := settings.get("mounts"), list):
        wrong += mounts.problems(paths, state)
    if isinstance(disk := settings.get("disk"), dict):
        wrong += look.disk(disk["paths"], disk["mib"])
    if settings.get("clock"):
        wrong += look.clock()
    return wrong


def main() -> None:
    """Check once. Call Slurm only if there are faults, after faults, and at the first check after a boot."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (STATE / "running").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        wrong = problems(settings, STATE)
        fine = STATE / "fine"
        if not wrong and fine.exists():
            return
        fine.unlink(missing_ok=True)
        step = node.next_step(node.ask(settings["node"]), wrong)
        if step:
            syslog.syslog(syslog.LOG_WARNING, f"{step.state}: {step.reason or 'nothing is wrong any more'}")
            node.update(settings["node"], step)
        if not wrong:
            fine.touch()


if __name__ == "__main__":
    syslog.openlog("gpupool-health")
    try:
        main()
    except node.NoAnswerError as error:
        # the next check tries again
        syslog.syslog(syslog.LOG_WARNING, str(error))
