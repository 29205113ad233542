"""Slurm's daemons, and their view of the cluster."""

import pytest
from testinfra.host import Host

from gpupool.cluster.accounting_file import users
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.gres import OUT_OF_SERVICE, closed
from gpupool.verify.scope import not_checked, only_if

pytestmark = pytest.mark.manages("slurm")


@pytest.mark.manages("munge")
@pytest.mark.role("head", "controller", "backup-controller", "database", "compute")
@pytest.mark.needs("munge")
def test_munge_credentials_are_good(node: Node, host: Host) -> None:
    output = host.run("munge -n | unmunge | head -n 1").stdout
    assert "Success" in output, f"munge prints {output or 'nothing'}"


@pytest.mark.role("head", "compute", "controller", "backup-controller")
@pytest.mark.needs("slurmctld")
def test_slurmctld_answers(node: Node, host: Host, cluster: Cluster) -> None:
    ping = host.run("scontrol ping")
    assert "is UP" in ping.stdout, f"scontrol ping: {(ping.stdout or ping.stderr).strip()}"


@pytest.mark.manages("accounts")
@pytest.mark.role("database")
@pytest.mark.needs("slurmctld", "slurmdbd")
def test_removed_users_have_no_jobs(cluster: Cluster, node: Node, host: Host) -> None:
    """apply cancels pending jobs of users who have left an account; running jobs may finish."""
    members = {(user.name, account) for user in cluster.users.values() for account in user.accounts} | users(
        cluster.attached
    )
    elsewhere = {
        name for name, account in cluster.accounts.items() if account.entry.members_from or not account.exact
    } | {"root"}
    output = host.run(f"squeue -ha -M {cluster.name} -o '%i|%u|%a'")
    assert output.rc == 0, f"squeue: {output.stderr.strip()}"
    jobs = [line.split("|") for line in output.stdout.splitlines() if line.count("|") == 2]
    left = [
        f"{job} of {user} in {account}"
        for job, user, account in jobs
        if account not in elsewhere and (user, account) not in members
    ]
    assert not left, f"jobs of users who are not in the account: {', '.join(left)} (to end one: scancel JOB)"


@pytest.mark.manages("compute")
@pytest.mark.role("compute")
@pytest.mark.needs("slurmctld", "slurmd")
def test_node_may_get_jobs(node: Node, host: Host) -> None:
    state, _, reason = _shown(node, host, "%t %E").partition(" ")
    remedy = f"once its fault is mended: `scontrol update nodename={node.slurm_name} state=resume`"
    assert state.rstrip("*$~#%@^-") in ("idle", "mix", "alloc", "comp", "resv", "plnd"), f"{state}: {reason} ({remedy})"


@pytest.mark.role("compute")
@pytest.mark.needs("slurmctld", "slurmd")
def test_node_has_the_gpus_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(node.gpus or node.gres)
    gres = _shown(node, host, "%G")
    gpus = {word.split("(")[0] for word in gres.split(",")}
    wanted = {f"gpu:{gpu}:{count}" for gpu, count in node.gpus.items()}
    wanted |= {f"{name}:{count}" for name, count in node.gres.items()}
    if files := closed(cluster, node):
        wanted.add(f"{OUT_OF_SERVICE}:{len(files)}")
    assert gpus == wanted, f"Slurm has {gres}, the inventory {', '.join(sorted(wanted))}"


def _shown(node: Node, host: Host, fields: str) -> str:
    """Return fields of a node in sinfo(1); the check of slurmctld's answer has the reason if there are none."""
    lines: list[str] = host.run(f"sinfo -h -N -n {node.slurm_name} -o '{fields}'").stdout.splitlines()
    if not lines:
        not_checked("sinfo does not show the node")
    return sorted(lines)[0]


@pytest.mark.manages("head")
@pytest.mark.role("head")
def test_head_runs_no_jobs(node: Node, host: Host) -> None:
    assert host.run("pgrep -x slurmd").rc != 0, "slurmd runs here"


@pytest.mark.role("controller")
@pytest.mark.needs("slurmctld")
def test_partitions_are_those_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    listed = set(host.check_output("sinfo -h -o %R").split())
    wanted = set(cluster.partitions)
    missing, unknown = (", ".join(sorted(names)) or "none" for names in (wanted - listed, listed - wanted))
    assert listed == wanted, f"missing: {missing}, unknown: {unknown}"


@pytest.mark.manages("accounts")
@pytest.mark.role("database")
@pytest.mark.needs("slurmctld", "slurmdbd")
def test_caps_are_enforced(cluster: Cluster, node: Node, host: Host) -> None:
    lines = host.check_output("sacctmgr -nP show assoc user= format=account,grptres").splitlines()
    caps = {account: cap for account, _, cap in (line.partition("|") for line in lines)}
    accounts = entities(cluster)["accounts"].items()
    wanted = {
        name: limits["GrpTRES"]["gres/gpu"] for name, limits in accounts if "gres/gpu" in limits.get("GrpTRES", ())
    }
    wrong = [name for name, cap in wanted.items() if f"gres/gpu={cap}" not in caps.get(name, "").split(",")]
    assert not wrong, f"another cap in slurmdbd: {', '.join(wrong)}"
    enforced = host.check_output("scontrol show config | grep AccountingStorageEnforce")
    assert "limits" in enforced, f"{enforced}: no cap is enforced"
