"""A job is charged the price of its queue, and a job that costs more than the rest of the budget is refused."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.budgets import has_budgets
from show.shell import Shell, title, until


def fits(cluster: Cluster) -> bool:
    """Return whether accounts have budgets."""
    return has_budgets(cluster)


def show(cluster: Cluster, shell: Shell) -> None:
    """Charge a job for a whole node, and let another be refused."""
    account = cluster.accounts[cluster.users[shell.user].account]
    title(f"A job costs what its queue costs, and {account.name} has a budget")
    longest = max(cluster.partitions.values(), key=lambda partition: partition.entry.max_time or 0)
    before = _used(shell, account.name)
    shell.type(f"srun -p {longest.name} --exclusive -N 1 -n 1 -t 5 sleep 60", says="one task, charged a whole node")
    until(lambda: _used(shell, account.name) != before, "Slurm has charged the job")
    shell.type(f"budget -A {account.name}")
    dear = f"sbatch -p {longest.name} --exclusive --array=1-1000 --wrap hostname"
    shell.type(f"{dear} 2>&1 || true")


def _used(shell: Shell, account: str) -> str:
    return shell.run(f"budget -A {account}")
