"""A deployed testbed and the ways a test looks at it."""

import atexit
import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import forked
from pace import until

from gpupool.cluster.model import Cluster
from gpupool.target import Target, find_target
from gpupool.testbed.look import ssh_command

ROOT = Path(__file__).parents[2]
SKYNET = ROOT / "inventory" / "skynet"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
# not the inventory's own networks: a demo may stand beside the tests
NETWORK = f"10.{166 + int(WORKER) % 2}.0.0/16"

# A new connection costs ten times what most commands do.
_CONNECTIONS = tempfile.TemporaryDirectory(prefix="ssh-")
_STAYS = {"root": 300}  # seconds that a connection stays when nobody uses it
_OTHERS_STAY = 5  # so do those of other users, whose sessions end with it
#: States that no job leaves by itself. Those of a job that Slurm puts back into the queue are not among them.
ENDED = ("COMPLETED", "CANCELLED", "TIMEOUT")


def gpupool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a person would, without a terminal."""
    return forked.command(arguments, ROOT)


def docker(*arguments: str) -> str:
    """Run docker and give what it prints."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _socket(container: str, user: str) -> Path:
    """Return the path of a connection's socket: names could make it too long for one."""
    return Path(_CONNECTIONS.name) / f"{zlib.crc32(container.encode()):08x}-{zlib.crc32(user.encode()):08x}"


@atexit.register
def hang_up(container: str = "") -> None:
    """End the connections that tests share, to one node that is about to go or to all."""
    for socket in Path(_CONNECTIONS.name).glob(f"{_socket(container, '').name[:9] if container else ''}*"):
        subprocess.run(["ssh", "-O", "exit", f"-oControlPath={socket}", "node"], capture_output=True, check=False)
        socket.unlink(missing_ok=True)


@dataclass(frozen=True)
class Testbed:
    """A deployed testbed and the ways a test looks at it."""

    __test__ = False

    inventory: Path
    target: Target

    @property
    def cluster(self) -> Cluster:
        return self.target.cluster

    @property
    def controller(self) -> str:
        """Return the node that slurmctld runs on first."""
        return self.cluster.controllers[0].name

    def container(self, node: str) -> str:
        """Return docker's name of a node."""
        assert self.target.testbed
        return f"{self.target.testbed.id}-{node}"

    def run(self, node: str, command: str, user: str = "root", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on a node by ssh; somebody's commands there share a connection."""
        assert self.target.testbed
        first, *rest = ssh_command(self.target.testbed, node, user, [command])
        shared = [f"-oControlPath={_socket(self.container(node), user)}", "-oControlMaster=auto"]
        shared += [f"-oControlPersist={_STAYS.get(user, _OTHERS_STAY)}", "-oServerAliveInterval=10"]
        return subprocess.run([first, *shared, *rest], input=text, capture_output=True, text=True, check=False)

    def switch_off(self, *nodes: str) -> None:
        """Stop nodes in order, as by their power buttons."""
        for node in nodes:
            hang_up(self.container(node))
        docker("stop", *map(self.container, nodes))

    def switch_on(self, *nodes: str) -> None:
        """Start nodes that were switched off."""
        docker("start", *map(self.container, nodes))

    def out(self, node: str, command: str, user: str = "root", text: str = "") -> str:
        """Return what a command prints; fail with its own words when it fails."""
        done = self.run(node, command, user, text)
        assert done.returncode == 0, f"{user}@{node}: {command}: {done.stderr or done.stdout}"
        return done.stdout.strip()

    def plan(self, *arguments: str) -> tuple[int, dict[str, list[str]]]:
        """Return plan's exit status and each node's pending changes by name."""
        done = gpupool("plan", self.inventory, "--on", "testbed", "--json", *arguments)
        assert done.stdout, done.stderr
        hosts = json.loads(done.stdout)["hosts"]
        return done.returncode, {
            name: [change["operation"] for change in host["changes"]] for name, host in hosts.items() if host["changes"]
        }

    def apply(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Apply the inventory."""
        return gpupool("apply", self.inventory, "--on", "testbed", "--yes", *arguments)

    def submit(self, user: str, options: str, script: str = "sleep 600") -> str:
        """Submit a batch job on a head node and give its number."""
        head = next(node.name for node in self.target.nodes if node.has("head"))
        return self.out(head, f"sbatch --parsable -o /dev/null {options} --wrap '{script}'", user)

    def cancel_jobs(self) -> str:
        """Cancel every job, and return what squeue showed before: nothing once they have all ended."""
        # arrays and heterogeneous jobs as a whole: a component alone may be refused
        return self.out(self.controller, "squeue -h; squeue -h -o %i | sed 's/[+_].*//' | sort -u | xargs -r scancel")

    def end_jobs(self) -> None:
        """Cancel every job, and return once all have ended."""
        until(lambda: not self.cancel_jobs(), "all jobs have ended")

    def job(self, number: str) -> dict[str, str]:
        """Return what slurmctld knows of a job."""
        text = self.out(self.controller, f"scontrol -o show job {number}")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for(self, number: str, state: str, reason: str = "") -> dict[str, str]:
        """Wait until a job is in a state (and waits for a reason); not for what a job that has ended never comes to."""

        def there() -> dict[str, str] | None:
            job = self.job(number)
            assert job["JobState"] == state or job["JobState"] not in ENDED, f"job {number} has ended: {job}"
            return job if job["JobState"] == state and reason in job["Reason"] else None

        found: dict[str, str] = until(there, f"job {number} is {state} {reason}", lambda: str(self.job(number)))
        return found


def up(inventory: Path, network: str) -> Testbed:
    done = gpupool("testbed", "up", inventory, "--network", network)
    assert done.returncode == 0, done.stderr
    testbed = Testbed(inventory, find_target(inventory, "testbed"))
    done = testbed.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    return testbed


#: Takes a file of the inventory, a text in it and what to put in its place; gives the testbed as seen from there.
Changed = Callable[[str, str, str], Testbed]
