"""A real twin: it starts, runs jobs, loses a node and leaves nothing behind. Needs docker."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pace import until

from gpupool.cluster.load import load
from gpupool.errors import TwinError
from gpupool.rehearsal.twin import Ask, Job, Refusal, Result, Twin
from gpupool.rehearsal.twin import container as twin_container
from gpupool.rehearsal.twin.compiled import Compiled, compiled
from gpupool.rehearsal.twin.differences import applied
from gpupool.rehearsal.twin.differences.table import differences, place_of
from gpupool.testbed import docker

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"


@pytest.fixture(scope="module")
def twin(apart: None) -> Iterator[Twin]:
    """The twin of the example inventory."""
    with Twin.start(load(EXAMPLE)) as twin:
        yield twin


@pytest.fixture
def idle(twin: Twin) -> Twin:
    """The same twin without jobs."""
    twin.clear()
    return twin


def _until(twin: Twin, what: Callable[[list[Job]], bool]) -> list[Job]:
    return until(lambda: jobs if what(jobs := twin.jobs()) else None, "the jobs are so", lambda: str(twin.jobs()))


def _states(jobs: list[Job]) -> Counter[str]:
    return Counter(job.state for job in jobs)


def test_the_twin_has_every_node_and_gpu_of_the_inventory(twin: Twin) -> None:
    output = twin.run("scontrol -o show nodes").out
    compute = twin.cluster.having("compute")
    assert output.count("State=IDLE") == len(compute)
    for node in compute:
        assert f"NodeName={node.slurm_name} " in output
    tres = twin.run("scontrol -o show nodes | grep -o 'CfgTRES=[^ ]*'").out
    assert sum(int(word.rpartition("=")[2]) for line in tres.splitlines() for word in line.split(",")
               if word.startswith("gres/gpu=")) == twin.cluster.total_gpus  # fmt: skip


def test_the_twin_reaches_no_network(twin: Twin) -> None:
    assert "lo" in (output := twin.run("ls /sys/class/net").out)
    assert "eth" not in output


def test_an_array_runs_up_to_its_labs_cap(idle: Twin) -> None:
    lab = next(account for account in idle.cluster.accounts.values() if account.entry.kind == "lab")
    cap = lab.limits.group.gpu
    assert cap
    user = next(user.name for user in idle.cluster.users.values() if user.account == lab.name)
    [number] = idle.submit([Ask(user, ("--gres=gpu:1", "--mem=1G", f"--array=1-{cap + 3}"))])
    jobs = _until(idle, lambda jobs: _states(jobs) == {"RUNNING": cap, "PENDING": 3})
    assert {job.reason for job in jobs if job.state == "PENDING"} == {"AssocGrpGRES"}
    assert {job.array for job in jobs} == {number}
    assert all(job.gpus == 1 and job.account == lab.name and job.user == user for job in jobs)
    idle.clear()
    assert idle.jobs() == []
    assert isinstance(number, str)
    assert idle.history([number])[f"{number}_1"] == "CANCELLED"


def test_a_refusal_of_sbatch_is_reported_unchanged(idle: Twin) -> None:
    user = next(iter(idle.cluster.users))
    taken, refused = idle.submit([Ask(user), Ask(user, ("-p", "nosuch"))])
    assert isinstance(taken, str)
    assert isinstance(refused, Refusal)
    assert "Invalid partition name" in refused.message


def test_jobs_of_a_lost_node_run_again_on_another(idle: Twin) -> None:
    user = next(iter(idle.cluster.users))
    idle.submit([Ask(user, ("--mem=1G",))])
    [job] = _until(idle, lambda jobs: _states(jobs) == {"RUNNING": 1})
    [node] = job.nodes
    idle.lose(node)
    try:
        [again] = _until(idle, lambda jobs: _states(jobs) == {"RUNNING": 1})
        assert again.id == job.id
        assert again.restarts == 1
        assert again.nodes != (node,)
    finally:
        idle.clear()
        idle.restore(node)
    assert idle.run(f"sinfo -h -N -n {node} -o %T").out.split()[0] == "idle"


def test_jobs_of_a_lost_node_run_there_again_undisturbed(idle: Twin) -> None:
    user = next(iter(idle.cluster.users))
    node = max(idle.cluster.having("compute"), key=lambda node: node.gpu_count)
    idle.submit([Ask(user, ("--mem=1G", f"--gpus={node.gpu_count}", f"--nodelist={node.slurm_name}"))])
    _until(idle, lambda jobs: _states(jobs) == {"RUNNING": 1})
    idle.lose(node.slurm_name)
    # the job is eligible again, so that it starts as soon as its node is back
    assert idle.run("sleep 8").code == 0
    idle.restore(node.slurm_name)
    [again] = _until(idle, lambda jobs: _states(jobs) == {"RUNNING": 1})
    # slurmctld's order to end the former run would arrive within a second of the node's return
    assert idle.run("sleep 3").code == 0
    [later] = idle.jobs()
    assert (later.state, later.restarts, later.start) == ("RUNNING", 1, again.start)


def test_jobs_run_as_their_users(idle: Twin) -> None:
    name, user = next(iter(idle.cluster.users.items()))
    output = idle.run("id -un; id -u; id -gn", name).out.split()
    assert output[:2] == [name, str(user.uid)]
    assert idle.run("exit 7").code == 7


def test_a_script_that_hangs_is_killed_and_the_next_is_answered(twin: Twin) -> None:
    assert twin.run("echo before; sleep infinity", seconds=1).code == 137
    assert twin.run("echo out; echo err >&2; printf more; exit 3") == Result(3, "out\nmore", "err\n")


def test_a_missing_twin_is_an_error_in_one_sentence() -> None:
    gone = Twin(load(EXAMPLE), "24.11", "gpupool-no-such-twin")
    with pytest.raises(TwinError, match="gpupool-no-such-twin does not answer: No such container"):
        gone.run("true")


def test_a_changed_file_of_a_daemon_is_found(twin: Twin) -> None:
    clean = compiled(twin.cluster)
    files = applied(clean.files, differences(place_of(twin.cluster, twin.version)))
    twin._compare(files, [])
    path = "/etc/slurm/gres.conf"
    twin.run(f"cp {path} /tmp/; echo '# by hand' >> {path}")
    with pytest.raises(TwinError, match=f"{path}: changed after it was written"):
        twin._compare(files, [])
    twin.run(f"cp /tmp/gres.conf {path}")


@pytest.mark.usefixtures("apart")
def test_a_twin_that_cannot_start_is_removed_with_its_reason() -> None:
    cluster = load(EXAMPLE)
    clean = compiled(cluster)
    conf = "/etc/slurm/slurm.conf"
    bad = Compiled({**clean.files, conf: clean.files[conf] + "NoSuchKey=1\n"}, clean.entities)
    before = _twins()
    with pytest.raises(TwinError, match="NoSuchKey"):
        Twin.start(cluster, bad)
    assert _twins() == before


def test_a_twin_of_a_killed_process_is_removed_by_the_next(twin: Twin) -> None:
    script = (
        "import time; from gpupool.cluster.load import load; from gpupool.rehearsal.twin import Twin; "
        f"from pathlib import Path; print(Twin.start(load(Path('{EXAMPLE}'))).name, flush=True); time.sleep(600)"
    )
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    name = other.stdout.readline().strip()
    # that container runs, and so does ours
    assert twin_container.remove_orphans() == []
    assert {name, twin.name} <= _twins()
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert twin_container.remove_orphans() == [name]
    assert name not in _twins()
    assert twin.name in _twins()


def _twins() -> set[str]:
    return set(docker.labelled("container", f"{twin_container.LABEL}={twin_container.prefix()}"))
