"""A fileserver and its client as virtual machines, and the ways a test switches them off and on."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpupool.reach import reach
from gpupool.testbed import vm
from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Testbed, docker, gpupool, until

INVENTORY = Path(__file__).parent / "inventory"
NETWORK = os.environ.get("GPUPOOL_TESTBED_NETWORK", "10.168.0.0/16")
MACHINES = "fs1,node01"
BOOT_SECONDS = 420.0
CONNECTIONS = tempfile.TemporaryDirectory(prefix="gpupool-ssh-")  # a short path: it is a socket's

#: Takes a file of the inventory, a text in it and what to put in its place; gives the cluster as seen from there.
Changed = Callable[[str, str, str], "Stores"]


@dataclass(frozen=True)
class Stores(Testbed):
    """The deployed cluster: `control` is a container, `fs1` and `node01` are machines.

    Root's commands on a machine share a connection: a new one costs an emulated machine a second or two.
    """

    def run(self, node: str, command: str, user: str = "root", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on a node by ssh."""
        if user != "root":
            return super().run(node, command, user, text)
        assert self.to.testbed
        first, *rest = ssh_command(self.to.testbed, node, user, [command])
        shared = [f"-oControlPath={self._socket(node)}", "-oControlMaster=auto", "-oControlPersist=300"]
        words = [first, *shared, "-oServerAliveInterval=10", *rest]
        return subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=180)

    def _socket(self, node: str) -> Path:
        return Path(CONNECTIONS.name) / node

    def hang_up(self, node: str) -> None:
        """End the connection to a machine that is about to go."""
        command = ["ssh", "-O", "exit", f"-oControlPath={self._socket(node)}", node]
        subprocess.run(command, capture_output=True, check=False, timeout=30)
        self._socket(node).unlink(missing_ok=True)

    def boot(self, node: str) -> str:
        """Give the number of a node's boot; nothing while it does not let us in."""
        assert self.to.testbed
        line = ssh_command(self.to.testbed, node, "root", ["cat /proc/sys/kernel/random/boot_id"])
        patient = [line[0], "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", *line[1:]]
        try:
            done = subprocess.run(patient, capture_output=True, text=True, check=False, timeout=30)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip()

    def wait_until_up(self, node: str) -> None:
        """Wait until a node that boots lets us in."""
        until(lambda: self.boot(node), f"{node} is up", BOOT_SECONDS)

    def pull_plug(self, node: str) -> None:
        """Switch a machine off as a power cut does."""
        assert self.to.testbed
        self.hang_up(node)
        vm.pull_plug(self.to.testbed.id, node)

    def shut_down(self, node: str) -> None:
        """Switch a machine off by its power button; its services end in order."""
        self.hang_up(node)
        docker("stop", self.container(node))

    def start(self, node: str, wait: bool = True) -> None:
        """Switch a machine on again, and wait until it lets us in."""
        docker("start", self.container(node))
        if wait:
            self.wait_until_up(node)

    def reboot(self, node: str) -> None:
        """Reboot a machine from within, and wait until it is there again."""
        before = self.out(node, "cat /proc/sys/kernel/random/boot_id")
        self.out(node, "systemctl reboot")
        self.hang_up(node)
        until(lambda: self.boot(node) not in ("", before), f"{node} is up again", BOOT_SECONDS)


def up() -> Stores:
    """Bring the nodes up as bare Debian, and deploy them by apply alone."""
    done = gpupool("testbed", "up", INVENTORY, "--network", NETWORK, "--vm", MACHINES, "--bare", timeout=1500)
    assert done.returncode == 0, done.stderr
    stores = Stores(INVENTORY, reach(INVENTORY, "testbed"))
    done = gpupool("apply", INVENTORY, "--on", "testbed", "--yes", timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return stores
