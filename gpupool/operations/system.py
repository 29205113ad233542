"""Refuse a node whose operating system is not the inventory's."""

from gpupool.distributions.tables import with_os_release
from gpupool.facts.system import System
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Refused, look, operation

_KEYS = "the node's distribution, or software.distribution,"


@operation
def refuse_another(os_release: list[str], title: str) -> None:
    """Fail if the node runs another system than the inventory says, before anything is changed.

    `os_release` are the wanted ID and VERSION_CODENAME of os-release(5), `title` is the wanted system's name.
    """
    system = look(System, "which system the node runs")
    if [system.id, system.codename] != os_release:
        here = system.title or system.id or "a system without /etc/os-release"
        known = with_os_release(system.id, system.codename)
        correct = f"set {_KEYS} to {' or '.join(known)}" if known else f"correct {_KEYS}"
        raise Refused(
            f"the node runs {here}, but the inventory says {title}: {correct}, or install {title} on the node "
            "(see docs/distributions.md)"
        )
    this_host().noop(f"the node runs {title}")
