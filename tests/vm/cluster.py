"""A fileserver and its client as virtual machines, which a test can switch off and on."""

import os
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pace import until

from gpupool.cli.testbed import wanted
from gpupool.target import find_target
from gpupool.testbed import docker, lifecycle, vm
from gpupool.testbed.look import ssh_command
from gpupool.testbed.spec import Container
from tests.testbed.cluster import Testbed, gpupool, hang_up

INVENTORY = Path(__file__).parent / "inventory"
NETWORK = os.environ.get("GPUPOOL_TESTBED_NETWORK", "10.168.0.0/16")
SERVER = "fs1"
MACHINES = f"{SERVER},node01"
#: Packages that apply installs on the server, whose daemons need a real kernel; and packages already on its disk.
KERNELS_OWN, BESIDE = ("nfs-kernel-server", "zfsutils-linux"), ("nfs-common", "python3")

#: Takes a file of the inventory, a text in it and its replacement; returns the cluster with the changed inventory.
Changed = Callable[[str, str, str], "Stores"]


@dataclass(frozen=True)
class Stores(Testbed):
    """The deployed cluster: `control` is a container, `fs1` and `node01` are machines."""

    def zfs(self, names: str, of: str) -> str:
        """Return the values of properties of a pool or dataset, with exact numbers."""
        return self.out("fs1", f"zfs get -Hpo value {names} {of}")

    def boot(self, node: str) -> str:
        """Return the boot ID of a node; "" while it cannot be reached."""
        assert self.target.testbed
        line = ssh_command(self.target.testbed, node, "root", ["cat /proc/sys/kernel/random/boot_id"])
        alive = ["BatchMode=yes", "ConnectTimeout=60", "ServerAliveInterval=10", "ServerAliveCountMax=3"]
        patient = [line[0], *(word for option in alive for word in ("-o", option)), *line[1:]]
        return subprocess.run(patient, capture_output=True, text=True, check=False).stdout.strip()

    def wait_until_up(self, node: str) -> None:
        """Wait until a booting node can be reached; show the end of its console if it cannot."""
        until(lambda: self.boot(node), f"{node} is up", lambda: self._console(node))

    def _console(self, node: str) -> str:
        # a container that has ended has no processes: docker's error is shown then
        box = self.container(node)
        asked = (["logs", "--tail", "20", box], ["top", box, "-o", "pid,pcpu,time,stat,comm"])
        return "\n".join((done.stdout + done.stderr)[-2000:] for done in map(docker.attempt, asked))

    def pull_plug(self, node: str) -> None:
        """Switch a machine off as a power cut does."""
        assert self.target.testbed
        hang_up(self.container(node))
        vm.pull_plug(self.target.testbed.id, node)

    def start(self, node: str, wait: bool = True) -> None:
        """Switch a machine on again, and wait until it can be reached.

        Twice a boot stopped on two busy cores, once for a known reason: QEMU 10, emulating four processors, never fired
        the timer of one. So a machine that runs and cannot be reached is switched off and on once more, with a warning
        that includes its console. A fault that stops every boot still fails.
        """
        self.switch_on(node)
        if not wait:
            return
        try:
            self.wait_until_up(node)
        except AssertionError as error:
            warnings.warn(f"{node} is switched on once more: {error}", stacklevel=2)
            self.pull_plug(node)
            self.switch_on(node)
            self.wait_until_up(node)


def up() -> Stores:
    """Start the nodes and deploy them by apply alone.

    Their disks have the packages, except packages that no container can run: apply installs these, as on a new machine.
    A whole installation on emulated processors takes five minutes more, and the testbeds' containers test it.
    """
    spec, _ = wanted(INVENTORY, name=None, prefix=os.environ["GPUPOOL_TESTBED_PREFIX"], network=NETWORK, vm=MACHINES)
    lifecycle.up(replace(spec, containers=tuple(map(_without_kernels_own, spec.containers))), inventory=INVENTORY)
    stores = Stores(INVENTORY, find_target(INVENTORY, "testbed"))
    done = gpupool("apply", INVENTORY, "--on", "testbed", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    return stores


def _without_kernels_own(box: Container) -> Container:
    if box.name != SERVER:
        return box
    assert {*KERNELS_OWN} <= {*box.packages}, "the inventory still wants them"
    left = {*box.packages} - {*KERNELS_OWN} | {*BESIDE}
    return replace(box, packages=tuple(sorted(left)))
