"""dockerd is not restarted while containers run.

With live-restore, containers survive a restart. But a `docker run` in a job waits for its container through dockerd: a
restart ends the command, and the job with it.
"""

from gpupool.facts.docker import Containers
from gpupool.facts.service import Unit
from gpupool.operations import upcoming
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import WAITS, Commands, Refused, look, operation
from gpupool.operations.service import Wanted, bring_up, stale

_UNIT = "docker.service"
_SHOWN = 3  # containers that a message lists


@operation
def running(restart_if: list[str]) -> Commands:
    """Have dockerd run and start at boot; if a file of `restart_if` changed and no container runs, restart it."""
    yield from bring_up(Wanted(_UNIT, restart_if=[] if _containers() else restart_if))


@operation
def up_to_date(restart_if: list[str]) -> None:
    """Fail with the running containers if dockerd runs with older versions of the files in `restart_if`."""
    state = look(Unit, f"the state of {_UNIT} from systemd", unit=_UNIT, paths=restart_if)
    changed = stale(state, {} if executing() else upcoming.announced())
    if changed and (containers := _containers()):
        named = ", ".join(f"{name} ({image})" for name, image in list(containers.items())[:_SHOWN])
        more = f" and {len(containers) - _SHOWN} more" if len(containers) > _SHOWN else ""
        raise Refused(
            f"dockerd is not restarted while containers run, and uses older settings ({', '.join(changed)}): "
            f"{named}{more}. Apply again when they have ended; to have them end, drain the node",
            WAITS,
        )
    this_host().noop("dockerd runs with its settings")


def _containers() -> dict[str, str]:
    return look(Containers, "the running containers from docker")
