"""The container of a twin: started without a network, and removed after its owner process has ended."""

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpupool.errors import TestbedError, TwinError
from gpupool.rehearsal.twin.differences.table import Place
from gpupool.testbed import docker

LABEL = "gpupool.twin"
OWNER = "gpupool.twin.owner"
KEPT = "kept"
_numbers = itertools.count(1)


def prefix() -> str:
    """Return the prefix of the names of twins."""
    return os.environ.get("GPUPOOL_TWIN_PREFIX") or "gpupool-twin"


def run(
    image: str, place: Place, cluster: str, *, state: str, keep: bool, rights: Sequence[str] = ("NET_ADMIN",)
) -> str:
    """Start an empty container and return its name; directories that daemons often write to are in memory."""
    name = f"{prefix()}-{cluster}-{os.getpid()}-{next(_numbers)}"
    # no network: the cluster's addresses are on the loopback device, and NET_ADMIN allows adding them
    memory = [word for path in ("/run", "/tmp", "/var/spool/slurmd", state) for word in ("--tmpfs", f"{path}:exec")]
    command = [
        *("run", "--detach", "--init", "--name", name, "--hostname", place.host, "--network", "none"),
        *("--label", f"{LABEL}={prefix()}", "--label", f"{OWNER}={KEPT if keep else owner(os.getpid())}"),
        *(word for right in rights for word in ("--cap-add", right)),
        *(*memory, "--log-driver", "none", "--stop-signal", "SIGKILL", image, "sleep", "infinity"),
    ]
    try:
        docker.run(command)
    except TestbedError as error:
        remove(name)
        raise TwinError(f"the twin's container could not be started: {error}") from None
    except BaseException:  # Ctrl-C: docker may already have created it
        remove(name)
        raise
    return name


def remove(name: str) -> None:
    """Remove a container with all that runs in it."""
    docker.attempt(["rm", "--force", "--volumes", name])


def remove_orphans() -> list[str]:
    """Remove twins whose owner process has ended, and return their names."""
    gone = [name for name, whose, state in _twins() if whose != KEPT and _is_dead(whose, runs=state == "running")]
    for name in gone:
        remove(name)
    return gone


def _twins() -> Iterator[tuple[str, str, str]]:
    form = '{{.Names}} {{.Label "' + OWNER + '"}} {{.State}}'
    listed = docker.run(["ps", "--all", "--filter", f"label={LABEL}={prefix()}", "--format", form])
    for line in listed.splitlines():
        name, whose, state = line.split(" ")
        yield name, whose, state


def owner(pid: int) -> str:
    """Return a unique identity of a process, across boots and machines: boot id, pid, start time."""
    return f"{_boot()}:{pid}:{_started(pid)}"


def _is_dead(whose: str, *, runs: bool) -> bool:
    boot, _, rest = whose.partition(":")
    pid, _, started = rest.partition(":")
    if not pid.isdigit() or not started:
        return False
    # another boot id is of an earlier boot, whose twins do not run, or of another machine that uses this docker
    return _started(int(pid)) != started if boot == _boot() else not runs


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str:
    try:
        # the name in parentheses may contain spaces
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
