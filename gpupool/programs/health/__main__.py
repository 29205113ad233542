"""`health SETTINGS`: look at this node; drain it where something is wrong, resume it when that is over.

slurmd runs it as root, kills it after 60 s, and at its own start waits for it. Exit code 0 whatever it finds: slurmd
would only log it.
"""

import fcntl
import json
import sys
import syslog
from pathlib import Path

from . import look, mounts, node

#: Empty at every boot. `fine`: nothing was wrong, and the node is not drained by this program.
STATE = Path("/run/gpupool/health")


def problems(settings: dict[str, object], state: Path) -> list[str]:
    """Return everything that is wrong, in a fixed order; mounts take 10 s at most, GPUs 20, the clock 5."""
    wrong = []
    if isinstance(gpus := settings.get("gpus"), dict):
        wrong += look.gpus(gpus["count"], gpus["program"], state)
    if isinstance(paths := settings.get("mounts"), list):
        wrong += mounts.problems(paths, state)
    if isinstance(disk := settings.get("disk"), dict):
        wrong += look.disk(disk["paths"], disk["mib"])
    if settings.get("clock"):
        wrong += look.clock()
    return wrong


def main() -> None:
    """Do all of it once. Slurm is asked only when something is wrong, or was, or at the first look after a boot."""
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
        # the next look asks again
        syslog.syslog(syslog.LOG_WARNING, str(error))
