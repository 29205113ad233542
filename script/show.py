"""What a cluster is for, shown on its testbed: the GPU fence, and a lab that gets its GPUs back.

usage: show.py [--head | --member] INVENTORY
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gpupool.cluster.model import Cluster, User
from gpupool.errors import GpupoolError
from gpupool.target import find_target
from gpupool.testbed.look import ssh_command
from gpupool.testbed.state import State

PATIENCE = 120  # seconds for a step of the show
out = Console(highlight=False)

PROBE = r"""
for gpu in /dev/nvidia[0-9]*; do
  said=$( { exec 3<"$gpu"; } 2>&1 ) || true
  case $said in
    *"No such device"*) echo "$gpu mine (ENXIO: it is let through, and there is no driver here)";;
    *"not permitted"*) echo "$gpu refused (EPERM)";;
    *) echo "$gpu $said";;
  esac
done
"""
HOLD = "#!/bin/bash\n#SBATCH --requeue\nsleep 900\n"


@dataclass(frozen=True)
class Shell:
    """A user's shell on the head node."""

    state: State
    head: str
    user: str

    def run(self, command: str, text: str = "") -> str:
        """Return what a command prints; GpupoolError with its own words when it fails."""
        arguments = ssh_command(self.state, self.head, self.user, [command])
        done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
        if done.returncode:
            raise GpupoolError(f"{self.user}@{self.head}: {command}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def say(self, command: str) -> None:
        """Show a command and what it prints."""
        out.print(f"[bold cyan]{self.user}@{self.head}$[/] ", end="")
        out.print(command, markup=False)
        out.print(self.run(command).rstrip(), markup=False)


def members(cluster: Cluster) -> tuple[User, User]:
    """Return a member of the lab with the largest cap, and one of another lab."""
    labs = [account for account in cluster.accounts.values() if account.kind == "lab"]
    labs.sort(key=lambda lab: -(lab.limits.group.gpu or 0))
    users = [next(user for user in cluster.users.values() if user.account == lab.name) for lab in labs[:2]]
    return users[0], users[1]


def show_fence(shell: Shell) -> None:
    """A job with one GPU looks at all of its node's."""
    out.print("\n[bold]A job opens its own GPUs and no others[/]")
    partition = "-p debug " if "debug" in shell.run("sinfo -h -o %R").split() else ""
    command = f"srun --gres gpu:1 {partition}bash -s"
    out.print(f"[bold cyan]{shell.user}@{shell.head}$[/] {command}   # tries every /dev/nvidia*", highlight=False)
    out.print(shell.run(command, PROBE).rstrip(), markup=False)


def show_overcap(cluster: Cluster, owner: Shell, guest: Shell, lab: str) -> None:
    """Overcap jobs fill the pool; an owner comes; the evicted ones run again."""
    gpus = cluster.total_gpus
    cap = cluster.accounts[lab].limits.group.gpu or 1
    out.print(
        f"\n[bold]{guest.user} borrows all {gpus} idle GPUs; {owner.user} of {lab} (cap {cap}) wants them back[/]"
    )
    guest.run("cat > hold.sh", HOLD)
    borrow = f"--partition=overcap --account=overcap --gres=gpu:1 -J borrow --array=1-{gpus}"
    array = guest.run(f"sbatch --parsable {borrow} -o /dev/null hold.sh").strip()
    running = f"squeue -h -r -j {array} -t R | wc -l"
    began = time.monotonic()

    def tell(what: str) -> None:
        out.print(f"  {time.monotonic() - began:5.1f} s  {what}")

    try:
        until(lambda: int(guest.run(running)) == gpus, "overcap jobs fill the pool")
        tell(f"{gpus} overcap jobs run on {gpus} GPUs")
        wanted = min(cap, 2)
        own = f"-p {lab} --gres=gpu:{wanted} -J own -o own.out --wrap 'sleep 5; hostname'"
        job = owner.run(f"sbatch --parsable {own}").strip()
        tell(f"{owner.user} submits a job for {wanted} GPUs to {lab}")
        until(lambda: state_of(owner, job) in ("RUNNING", "COMPLETING", "COMPLETED"), "the owner's job starts")
        left = int(guest.run(running))
        tell(f"it runs; {gpus - left} overcap jobs were preempted and wait again")
        until(lambda: state_of(owner, job) == "COMPLETED", "the owner's job ends")
        tell("it is done")
        until(lambda: int(guest.run(running)) == gpus, "the evicted jobs run again")
        again = ran_before(guest.run(f"squeue -h -r -j {array} -t R -O RestartCnt"))
        tell(f"all {gpus} overcap jobs run again; {again} of them a second time")
    finally:
        guest.run("scancel -u $USER")


def ran_before(listed: str) -> int:
    """Return how many jobs have been started more than once; `listed` is squeue's RestartCnt, a job a line."""
    return sum(int(restarts) > 0 for restarts in listed.split())


def state_of(shell: Shell, job: str) -> str:
    """Return a job's state as slurmctld has it."""
    fields = dict(word.split("=", 1) for word in shell.run(f"scontrol -o show job {job}").split() if "=" in word)
    return fields["JobState"]


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until it is so; GpupoolError when it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise GpupoolError(f"not within {PATIENCE} s: {what}")
        time.sleep(1)


def main() -> None:
    """Show it all, or print one name for scripts."""
    *options, inventory = sys.argv[1:]
    target = find_target(Path(inventory), "testbed")
    head = next(node.name for node in target.nodes if node.has("head"))
    owner, guest = members(target.cluster)
    if "--head" in options:
        print(head)
        return
    if "--member" in options:
        print(owner.name)
        return
    if target.testbed is None:
        raise GpupoolError("no testbed")
    first, second = Shell(target.testbed, head, owner.name), Shell(target.testbed, head, guest.name)
    first.say("sinfo -o '%20P %5a %.10l %6D %t'")
    first.say('sinfo -o "%f %N"')
    show_fence(first)
    show_overcap(target.cluster, first, second, owner.account)


if __name__ == "__main__":
    try:
        main()
    except GpupoolError as error:
        sys.exit(str(error))
