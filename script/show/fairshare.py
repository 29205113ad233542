"""An account with much usage comes after an account with little usage."""

from dataclasses import replace

from gpupool.cluster.model import Cluster
from show.shell import Shell, out, title, until


def fits(cluster: Cluster) -> bool:
    """Return whether accounts have fair shares."""
    return cluster.scheduler.fairshare == "accounts"


def show(cluster: Cluster, busy: Shell) -> None:
    """Give one account much usage; then a user of it and a user of another account wait for the same node."""
    mine = _department(cluster, cluster.users[busy.user].account)
    other = next(user for user in cluster.users.values() if _department(cluster, user.account) != mine)
    quiet = replace(busy, user=other.name)
    title(f"{mine} uses much, so {quiet.user} of {other.account} goes first")
    busy.type("srun -c 14 sleep 20")
    until(lambda: _share(quiet) > _share(busy), "Slurm has counted what was used")
    busy.type("sshare -a -o Account%20,User%20,NormShares,RawUsage,FairShare")
    node = cluster.having("compute")[0].slurm_name
    whole = f"sbatch --parsable -o /dev/null -w {node} --mem=0"
    holds = busy.run(f"{whole} -J holds --wrap 'sleep 900'").strip()
    until(lambda: busy.run(f"squeue -h -t R -j {holds}") != "", "the node is full")
    try:
        jobs = {shell.user: shell.run(f"{whole} --wrap 'sleep 2'").strip() for shell in (busy, quiet)}
        busy.type("sprio -o '%.8i %.15r %.20u %.10Y'", says=f"{busy.user} asked first")
    finally:
        busy.run(f"scancel {holds}")
    both = ",".join(jobs.values())
    until(lambda: busy.run(f"squeue -h -j {both} || true") == "", "both jobs have ended")
    starts = {user: busy.run(f"scontrol -o show job {job} | grep -o 'StartTime=[^ ]*'") for user, job in jobs.items()}
    first, last = sorted(starts, key=lambda user: starts[user])
    out.print(f"  {first} went first, {last} second")


def _department(cluster: Cluster, account: str) -> str:
    """Return the top account above an account."""
    parent = cluster.accounts[account].parent
    return _department(cluster, parent) if parent in cluster.accounts else account


def _share(shell: Shell) -> float:
    """Return a user's fair-share factor: 1 is first, 0 last."""
    account = shell.testbed.cluster.users[shell.user].account
    return float(shell.run(f"sshare -nP -A {account} -u {shell.user} -o User,FairShare | sed -n 's/^{shell.user}|//p'"))
