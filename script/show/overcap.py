"""A lab's owner submits a job while others borrow its GPUs."""

from dataclasses import replace

from gpupool.cluster.model import Cluster
from show.shell import Shell, stopwatch, title, until


def fits(cluster: Cluster) -> bool:
    """Return whether there are labs that lend each other GPUs."""
    return "overcap" in cluster.partitions


def show(cluster: Cluster, owner: Shell) -> None:
    """Fill the pool with overcap jobs; an owner's job arrives; the preempted jobs run again."""
    lab = cluster.users[owner.user].account
    other = next(user for user in cluster.users.values() if user.account not in (lab, "overcap"))
    guest = replace(owner, user=other.name)
    gpus = cluster.total_gpus
    cap = cluster.accounts[lab].limits.group.gpu or 1
    title(f"{guest.user} borrows all {gpus} idle GPUs; {owner.user} of {lab} (cap {cap}) wants them back")
    borrow = f"--partition=overcap --account=overcap --gres=gpu:1 -J borrow --array=1-{gpus}"
    array = guest.run(f"sbatch --parsable {borrow} -o /dev/null --requeue --wrap 'sleep 900'").strip()
    running = f"squeue -h -r -j {array} -t R | wc -l"
    tell = stopwatch()

    try:
        until(lambda: int(guest.run(running)) == gpus, "overcap jobs fill the pool")
        tell(f"{gpus} overcap jobs run on {gpus} GPUs")
        wanted = min(cap, 2)
        own = f"-p {lab} --gres=gpu:{wanted} -J own -o /dev/null --wrap 'sleep 5; hostname'"
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
    """Return a job's state in slurmctld."""
    fields = dict(word.split("=", 1) for word in shell.run(f"scontrol -o show job {job}").split() if "=" in word)
    return fields["JobState"]
