"""Processes of a user that burn CPUs, and the CPU time of the user as the kernel counts it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: Takes a node, a command and a user; returns the output.
Run = Callable[..., str]
_LOOPS = 4
_BURN = f"for i in $(seq {_LOOPS}); do setsid sh -c 'while :; do :; done' burn >/dev/null 2>&1 & done"
_LOOK = """cd /sys/fs/cgroup/user.slice/user-$(id -u {user}).slice && for i in 1 2; do
  awk '$1 == "usage_usec" {{ print $2 }}' cpu.stat; cut -d' ' -f1 /proc/uptime
  # missing until a user has a share
  awk '$1 == "nr_throttled" {{ count = $2 }} END {{ print count + 0 }}' cpu.stat
  [ $i = 2 ] || sleep 5
done"""


class Taken(NamedTuple):
    """The CPU time of a user, and how often the kernel throttled the user."""

    cpus: float
    throttled: int


@contextmanager
def burning(run: Run, node: str, user: str) -> Iterator[None]:
    """Run four endless loops of a user on a node, even after the session that starts them has ended."""
    run(node, _BURN, user)
    try:
        yield
    finally:
        run(node, f"pkill -KILL -u {user} -f '^sh -c while' || :")


def has_controller(run: Run, node: str) -> bool:
    """Return whether the kernel shares CPUs among users on the node: false in a container with control groups v1."""
    return "cpu" in run(node, "cat /sys/fs/cgroup/cgroup.controllers").split()


def taken(run: Run, node: str, user: str) -> Taken:
    """Return the CPU usage of a user on a node so far."""
    used, when, waited, used_later, later, waited_later = run(node, _LOOK.format(user=user)).split()
    cpus = (int(used_later) - int(used)) / 1e6 / (float(later) - float(when))
    return Taken(cpus, int(waited_later) - int(waited))
