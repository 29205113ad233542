"""The clock, GPUs and mounts of a node, read with one command, with the same script as in acceptance."""

import shlex
import time
from dataclasses import dataclass

from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.driver import CHECK, has_check
from gpupool.compile.system.storage import used_for
from gpupool.engine import clock
from gpupool.node import look
from gpupool.node.look import Item, Kind
from gpupool.shell import shell_file

MOUNT_SECONDS = 5
_LOOK = shell_file("gpupool.node", "look.sh")


@dataclass(frozen=True)
class NodeLook:
    """The message about a wrong clock ("" if it is right), the check of the GPUs if there is one, mounts, devices."""

    clock: str
    gpus: tuple[Item, ...]
    mounts: tuple[Item, ...]
    devices: tuple[Item, ...] = ()


def look_at(cluster: Cluster, node: Node, host: Host) -> NodeLook:
    """Look at a node once; each mount has `MOUNT_SECONDS`."""
    items: list[tuple[Kind, str]] = [("mount", mount.path) for mount in used_for(cluster, node)]
    if has_check(cluster, node):
        items.append(("gpus", CHECK))
    if node.has("compute"):
        files = [path for device in node.devices if not device.is_guess for path in device.files]
        items += [("device", path) for path in dict.fromkeys(files)]
    began = time.time()
    output = host.run(shlex.join(["sh", "-c", _LOOK, "look", *look.arguments(MOUNT_SECONDS, items)])).stdout
    seen = look.read(output)
    wrong = "it prints no time" if seen.clock is None else clock.fault(seen.clock, began, time.time())
    return NodeLook(wrong, seen.of("gpus"), seen.of("mount"), seen.of("device"))
