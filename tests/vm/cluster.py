"""A fileserver and its client as virtual machines, and the ways a test switches them off and on."""

import hashlib
import json
import os
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pace import until

from gpupool.target import find_target
from gpupool.testbed import docker, image, vm
from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import ROOT, Testbed, gpupool, hang_up

INVENTORY = Path(__file__).parent / "inventory"
NETWORK = os.environ.get("GPUPOOL_TESTBED_NETWORK", "10.168.0.0/16")
MACHINES = "fs1,node01"

#: Takes a file of the inventory, a text in it and what to put in its place; gives the cluster as seen from there.
Changed = Callable[[str, str, str], "Stores"]


@dataclass(frozen=True)
class Stores(Testbed):
    """The deployed cluster: `control` is a container, `fs1` and `node01` are machines.

    `from_bare`: no package was there before apply came.
    """

    from_bare: bool = False

    def zfs(self, names: str, of: str) -> str:
        """Return the values of properties of a pool or dataset, numbers in full."""
        return self.out("fs1", f"zfs get -Hpo value {names} {of}")

    def boot(self, node: str) -> str:
        """Return the number of a node's boot; nothing while it does not let us in."""
        assert self.target.testbed
        line = ssh_command(self.target.testbed, node, "root", ["cat /proc/sys/kernel/random/boot_id"])
        alive = ["BatchMode=yes", "ConnectTimeout=60", "ServerAliveInterval=10", "ServerAliveCountMax=3"]
        patient = [line[0], *(word for option in alive for word in ("-o", option)), *line[1:]]
        return subprocess.run(patient, capture_output=True, text=True, check=False).stdout.strip()

    def wait_until_up(self, node: str) -> None:
        """Wait until a node that boots lets us in; what its console said last is told when it does not."""
        until(lambda: self.boot(node), f"{node} is up", lambda: self._console(node))

    def _console(self, node: str) -> str:
        # a container that has ended has no processes: docker's complaint is told then
        box = self.container(node)
        asked = (["logs", "--tail", "20", box], ["top", box, "-o", "pid,pcpu,time,stat,comm"])
        return "\n".join((done.stdout + done.stderr)[-2000:] for done in map(docker.attempt, asked))

    def pull_plug(self, node: str) -> None:
        """Switch a machine off as a power cut does."""
        assert self.target.testbed
        hang_up(self.container(node))
        vm.pull_plug(self.target.testbed.id, node)

    def start(self, node: str, wait: bool = True) -> None:
        """Switch a machine on again, and wait until it lets us in.

        Twice a boot stood still on two busy cores. Once it was seen why: QEMU 10, emulating four processors, never
        fired the timer of one. So a machine that runs and does not come is switched off and on once more, with a
        warning that holds its console. What keeps every boot from ending fails all the same.
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
    """Bring the nodes up and deploy them by apply alone: from bare Debian where this version has not done so before."""
    bare = not _mark().exists()
    start = ["testbed", "up", str(INVENTORY), "--network", NETWORK, "--vm", MACHINES, *(["--bare"] if bare else [])]
    done = gpupool(*start, "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["created"]
    stores = Stores(
        INVENTORY, find_target(INVENTORY, "testbed"), bare and {"control", *MACHINES.split(",")} <= set(made)
    )
    done = gpupool("apply", INVENTORY, "--on", "testbed", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    return stores


def remember() -> None:
    """Note that this version has deployed bare machines: the next ones start from disks that hold the packages."""
    _mark().parent.mkdir(parents=True, exist_ok=True)
    _mark().touch()


def _mark() -> Path:
    """Return the file that stands where machines of this very version were deployed from bare Debian."""
    version = hashlib.sha256()
    for folder in ("gpupool", "roles", "deploys", "templates", "tests/vm/inventory"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                version.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return image.cache() / "deployed-from-bare" / version.hexdigest()[:16]
