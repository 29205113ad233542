"""The parser of `scontrol ping`: the controllers that answer, in the order of slurm.conf."""

import re

_CONTROLLER = re.compile(r"Slurmctld\(\w+\) at (\S+) is (UP|DOWN)")


def is_active(answer: str, host: str) -> bool:
    """Return whether the slurmctld of a host is the active one: the first in the list that is up."""
    up = [name for name, state in _CONTROLLER.findall(answer) if state == "UP"]
    return bool(up) and up[0].partition(".")[0] == host.partition(".")[0]
