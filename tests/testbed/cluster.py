"""A deployed testbed, and the commands with which a test inspects it."""

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
# not the inventory's own networks: a demo may run at the same time
NETWORK = f"10.{166 + int(WORKER) % 2}.0.0/16"

# A new connection costs ten times as much as most commands.
_CONNECTIONS = tempfile.TemporaryDirectory(prefix="ssh-")
_STAYS = {"root": 300}  # seconds that an idle connection is kept
_OTHERS_STAY = 5  # the same for other users, whose sessions end with the connection
#: Final states of a job. Those of a job that Slurm requeues are not among them.
ENDED = ("COMPLETED", "CANCELLED", "TIMEOUT")


def gpupool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a person would, without a terminal."""
    return forked.command(arguments, ROOT)


def docker(*arguments: str) -> str:
    """Run docker and return its output."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _socket(container: str, user: str) -> Path:
    """Return the path of a connection's socket; with names in it, it could exceed the limit of a socket's path."""
    return Path(_CONNECTIONS.name) / f"{zlib.crc32(container.encode()):08x}-{zlib.crc32(user.encode()):08x}"


@atexit.register
def hang_up(container: str = "") -> None:
    """Close the connections that tests share, to one node that is about to stop or to all."""
    for socket in Path(_CONNECTIONS.name).glob(f"{_socket(container, '').name[:9] if container else ''}*"):
        subprocess.run(["ssh", "-O", "exit", f"-oControlPath={socket}", "node"], capture_output=True, check=False)
        socket.unlink(missing_ok=True)


@dataclass(frozen=True)
class Testbed:
    """A deployed testbed, and the commands with which a test inspects it."""

    __test__ = False

    inventory: Path
    target: Target

    @property
    def cluster(self) -> Cluster:
        return self.target.cluster

    @property
    def controller(self) -> str:
        """Return the first node on which slurmctld runs."""
        return self.cluster.controllers[0].name

    def container(self, node: str) -> str:
        """Return docker's name of a node."""
        assert self.target.testbed
        return f"{self.target.testbed.id}-{node}"

    def run(self, node: str, command: str, user: str = "root", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command on a node by ssh; the commands of a user on a node share a connection."""
        assert self.target.testbed
        first, *rest = ssh_command(self.target.testbed, node, user, [command])
        shared = [f"-oControlPath={_socket(self.container(node), user)}", "-oControlMaster=auto"]
        shared += [f"-oControlPersist={_STAYS.get(user, _OTHERS_STAY)}", "-oServerAliveInterval=10"]
        return subprocess.run([first, *shared, *rest], input=text, capture_output=True, text=True, check=False)

    def switch_off(self, *nodes: str) -> None:
        """Shut nodes down in order, as by their power buttons."""
        for node in nodes:
            hang_up(self.container(node))
        docker("stop", *map(self.container, nodes))

    def switch_on(self, *nodes: str) -> None:
        """Start nodes that were switched off."""
        docker("start", *map(self.container, nodes))

    def out(self, node: str, command: str, user: str = "root", text: str = "") -> str:
        """Return the output of a command; fail with its error output if it fails."""
        done = self.run(node, command, user, text)
        assert done.returncode == 0, f"{user}@{node}: {command}: {done.stderr or done.stdout}"
        return done.stdout.strip()

    def plan(self, *arguments: str) -> tuple[int, dict[str, list[str]]]:
        """Return plan's exit status and each node's pending changes by name, or its failure."""
        done = gpupool("plan", self.inventory, "--on", "testbed", "--json", *arguments)
        assert done.stdout, done.stderr
        hosts = json.loads(done.stdout)["hosts"]
        return done.returncode, {
            name: [host["failure"]] if host["failure"] else [change["operation"] for change in host["changes"]]
            for name, host in hosts.items()
            if host["failure"] or host["changes"]
        }

    def apply(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Apply the inventory."""
        return gpupool("apply", self.inventory, "--on", "testbed", "--yes", *arguments)

    def submit(self, user: str, options: str, script: str = "sleep 600") -> str:
        """Submit a batch job on a head node and return its number."""
        head = next(node.name for node in self.target.nodes if node.has("head"))
        return self.out(head, f"sbatch --parsable -o /dev/null {options} --wrap '{script}'", user)

    def cancel_jobs(self) -> str:
        """Cancel every job, and return squeue's output from before: nothing once all have ended."""
        # arrays and heterogeneous jobs as a whole: the cancellation of one component may be refused
        return self.out(self.controller, "squeue -h; squeue -h -o %i | sed 's/[+_].*//' | sort -u | xargs -r scancel")

    def end_jobs(self) -> None:
        """Cancel every job, and return once all have ended."""
        until(lambda: not self.cancel_jobs(), "all jobs have ended")

    def job(self, number: str) -> dict[str, str]:
        """Return the fields of a job in slurmctld."""
        text = self.out(self.controller, f"scontrol -o show job {number}")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for(self, number: str, state: str, reason: str = "") -> dict[str, str]:
        """Wait until a job is in a state (and waits for a reason); fail if the job has ended in another state."""

        def there() -> dict[str, str] | None:
            job = self.job(number)
            assert job["JobState"] == state or job["JobState"] not in ENDED, f"job {number} has ended: {job}"
            return job if job["JobState"] == state and reason in job["Reason"] else None

        found: dict[str, str] = until(there, f"job {number} is {state} {reason}", lambda: str(self.job(number)))
        return found


def up(inventory: Path, network: str) -> Testbed:
    done = gpupool("testbed", "up", inventory, "--network", network, "--yes")
    assert done.returncode == 0, done.stderr
    testbed = Testbed(inventory, find_target(inventory, "testbed"))
    done = testbed.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    return testbed


#: Takes a file of the inventory, a text in it and its replacement; returns the testbed with the changed inventory.
Changed = Callable[[str, str, str], Testbed]
