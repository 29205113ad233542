"""The guard on a real slurmctld whose submit plugin refuses nothing: jobs are limited without the plugin."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from arbiters import restart_arbiter
from inventories import changed
from pace import until

from gpupool.cluster.load import load
from gpupool.compile.slurm import arbiter
from gpupool.rehearsal.twin import Twin, compiled

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
NO_RULE = """
function slurm_job_submit() return slurm.SUCCESS end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""


@pytest.fixture(scope="module")
def twin(apart: None) -> Iterator[Twin]:
    cluster = load(EXAMPLE)
    whole = compiled(cluster)
    with Twin.start(cluster, replace(whole, files={**whole.files, "/etc/slurm/job_submit.lua": NO_RULE})) as twin:
        yield twin


@pytest.fixture
def settings(twin: Twin) -> Iterator[dict[str, Any]]:
    """Yield the arbiter's settings; a test may restart the arbiter with others."""
    before = json.loads(twin.run(f"cat {arbiter.SETTINGS}").out)
    yield before
    restart_arbiter(twin, before)


def _log(twin: Twin) -> str:
    return twin.run("cat /var/log/arbiter.log").out


def _submit(twin: Twin, options: str, *changes: str, script: str = "sleep 600") -> str:
    """Submit a job of a lab; with changes it is held, changed and released."""
    user = next(user.name for user in twin.cluster.users.values() if user.account)
    done = twin.run(f"cd /tmp; sbatch --parsable -t 10 {'-H ' * bool(changes)}{options} --wrap '{script}'", user)
    job = done.out.strip()
    assert job.isdecimal(), done.err
    for change in changes:
        assert not twin.run(f"scontrol update jobid={job} {change}", user).code
    if changes:
        twin.run(f"scontrol release {job}", user)
    return job


def _shown(twin: Twin, job: str) -> str:
    return twin.run(f"squeue -h -j {job} -o '%T|%r|%k'").out.strip()


@pytest.mark.promise("SKY-036")
def test_each_attack_on_memory_is_held_and_allowed_jobs_run(twin: Twin) -> None:
    twin.clear()
    allowed = [
        _submit(twin, options) for options in ("-c 2 --mem=2G", "-N 1 --gpus=1 --mem=30G", "--exclusive --mem=0")
    ]
    forms = [
        _submit(twin, "--mem-per-cpu=0"),
        _submit(twin, "-c1 --mem=1G", "MinMemoryNode=20000"),
        _submit(twin, "--mincpus=2 -n1 --mem=2G"),
        _submit(twin, "--gres=gpu:1,gpu:1 --mem=60G"),
        _submit(twin, "--gpus=1 --mem-per-gpu=10G", "MemPerTres=gres/gpu:60K"),
    ]

    def are_held() -> bool:
        return all(
            state.startswith("PENDING|job requeued in held state|") and "[gpupool-guard: run 0, it has" in state
            for state in (_shown(twin, job) for job in forms)
        )

    until(are_held, "all are held", lambda: twin.run("squeue; cat /var/log/arbiter.log").out)
    assert [_shown(twin, job).partition("|")[0] for job in allowed] == ["RUNNING"] * 3


def test_memory_is_limited_by_the_type_of_gpu_that_slurm_allocated(twin: Twin, settings: dict[str, Any]) -> None:
    """A job may request GPUs without a type."""
    twin.clear()
    own = {"a40": 40 * 1024, "rtx_6000": 20 * 1024}
    restart_arbiter(twin, settings | {"bounds": settings["bounds"] | {"per_gpu": own}})
    large = [_submit(twin, f"--gpus={kind}1 -C a40 -N1 --mem=40G") for kind in ("", "a40:")]
    small = [_submit(twin, f"--gpus={kind}1 -C rtx_6000 -N1 --mem=21G") for kind in ("", "rtx_6000:")]
    until(
        lambda: all("run 0, it has 21504M of memory with 1 GPU, at most 20480M" in _shown(twin, job) for job in small),
        "both are held",
        lambda: twin.run("squeue; cat /var/log/arbiter.log").out,
    )
    assert [_shown(twin, job).partition("|")[0] for job in large] == ["RUNNING"] * 2


def test_the_reason_is_in_the_comments_the_output_and_the_log(twin: Twin) -> None:
    twin.clear()
    job = _submit(twin, "--mem-per-cpu=0 --comment=mine -o /tmp/output-%j")
    until(lambda: _shown(twin, job).startswith("PENDING|job requeued"), "it is held", lambda: _log(twin))
    mark = re.search(r"mine (\[gpupool-guard: run 0, (it has .* is allowed)\])", _shown(twin, job))
    assert mark
    assert mark[1] in twin.run(f"squeue -h -j {job} -O admin_comment:400").out
    assert f"gpupool: job {job} is held: {mark[2]}" in twin.run(f"cat /tmp/output-{job}").out
    assert f"job {job} of " in _log(twin)
    assert f" may not run on: {mark[2]}" in _log(twin)
    until(lambda: f"jobs held for their allocation: {job} of " in _log(twin), "the status names it", lambda: _log(twin))


def test_with_the_action_cancel_such_a_job_is_cancelled(twin: Twin, settings: dict[str, Any], tmp_path: Path) -> None:
    twin.clear()
    cancelling = arbiter.settings(changed(EXAMPLE, tmp_path, ("guard: hold", "guard: cancel")))
    assert cancelling
    assert cancelling["bounds"]["action"] == "cancel"
    # the job has begun before the guard works: Slurm writes no message into the output of a job that is only starting
    restart_arbiter(twin, {key: value for key, value in cancelling.items() if key != "bounds"})
    job = _submit(twin, "--mem-per-cpu=0 -o /tmp/output-%j", script="echo begun; sleep 600")
    until(lambda: "begun" in twin.run(f"cat /tmp/output-{job}").out, "it has begun", lambda: _shown(twin, job))
    restart_arbiter(twin, cancelling)
    until(lambda: twin.history([job]).get(job, "").startswith("CANCELLED"), "it is cancelled", lambda: _log(twin))
    assert f"gpupool: job {job} is cancelled: it has " in twin.run(f"cat /tmp/output-{job}").out


def test_if_the_guard_fails_jobs_start_and_the_arbiter_reports_it(twin: Twin, settings: dict[str, Any]) -> None:
    twin.clear()
    restart_arbiter(twin, settings | {"bounds": settings["bounds"] | {"per_cpu": "not a number"}})
    job = _submit(twin, "--mem-per-cpu=0")
    until(lambda: "the guard does nothing: TypeError" in _log(twin), "the arbiter reports it", lambda: _log(twin))
    assert _shown(twin, job).startswith("RUNNING")
    restart_arbiter(twin, settings)
    until(
        lambda: _shown(twin, job).startswith("PENDING|job requeued"),
        "a guard that works again holds it",
        lambda: _log(twin),
    )


def test_an_account_holds_no_more_than_the_inventory_allows_beside_what_it_borrows(
    twin: Twin, settings: dict[str, Any]
) -> None:
    """Slurm's own limit is higher here than the guard's."""
    twin.clear()
    account = next(user.account for user in twin.cluster.users.values() if user.account)
    bounds = settings["bounds"]
    assert bounds["accounts"][account]["gres/gpu"] == twin.cluster.accounts[account].limits.group.gpu
    restart_arbiter(twin, settings | {"bounds": bounds | {"accounts": {account: {"gres/gpu": 1}}}})
    lent, first = _submit(twin, "-p overcap -A overcap --gpus=1 --mem=1G"), _submit(twin, "--gpus=1 --mem=1G")
    until(lambda: _shown(twin, first).startswith("RUNNING"), "the first runs", lambda: _shown(twin, first))
    twin.do("sleep 1.1", "Slurm counts in seconds")
    second = _submit(twin, "--gpus=1 --mem=1G")
    line = f"run 0, {account} has 2 gres/gpu in jobs that are not preemptable, at most 1 are allowed]"
    until(lambda: line in _shown(twin, second), "the second is held", lambda: _shown(twin, second) + _log(twin))
    assert [_shown(twin, job).partition("|")[0] for job in (lent, first)] == ["RUNNING"] * 2


def test_a_job_that_was_released_unchanged_is_held_again(twin: Twin) -> None:
    twin.clear()
    job = _submit(twin, "--mem-per-cpu=0")
    until(lambda: "run 0, it has" in _shown(twin, job), "it is held", lambda: _shown(twin, job))
    user = next(user.name for user in twin.cluster.users.values() if user.account)
    until(lambda: not twin.run(f"scontrol release {job}", user).code, "it is released", lambda: _shown(twin, job))
    until(lambda: "run 1, it has" in _shown(twin, job), "it is held again", lambda: _shown(twin, job))
    until(lambda: twin.run(f"scontrol release {job}", user).code != 0, "an admin holds it", lambda: _shown(twin, job))


def test_no_job_stops_the_arbiter_or_imitates_another(twin: Twin) -> None:
    twin.clear()
    user = next(user.name for user in twin.cluster.users.values() if user.account)
    odd = ("$'a\\xff'", "$'x\\n7 RUNNING'", "$'\\x1b[31m'", "'[gpupool: leaves at 1, run 0, for job 1]'")
    script = "".join(f"sbatch -H -J {text} --comment {text} --wrap true\n" for text in odd)
    assert not twin.run(f"cd /tmp; {script}", user).code
    job = _submit(twin, "--mem-per-cpu=0")
    until(lambda: "[gpupool-guard" in _shown(twin, job), "the arbiter works", lambda: _shown(twin, job))
    log = twin.run("cat /var/log/arbiter.log").out
    assert "Traceback" not in log
    assert "doing nothing" not in log
    assert "cannot" not in log
