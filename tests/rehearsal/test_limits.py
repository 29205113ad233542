"""Limits and times in slurmctld: refused at once, held at a second check, set by default."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.run import rehearse
from gpupool.rehearsal.twin import Ask, Job, Refusal, Twin, compiled

PLACES = """
  - {name: gpus, nodes: "@compute", max_time: 1d, without_gpu: refuse, default_cpus_per_gpu: 3}
  - {name: either, nodes: "@compute", max_time: 1d, without_gpu: all}
  - {name: large, nodes: "@compute", max_time: 1d, limits: {per_job_least: {gpu: 4}}}
  - {name: few, nodes: "@compute", max_time: 1d, limits: {per_user: {cpu: 8}}}
  - {name: whole, nodes: "@compute", max_time: 1d, exclusive: job, default_qos: short}
"""
SAID = (
    ("gid: 5001", "gid: 5001, limits: {per_user: {submitted: 20}}"),
    ("{default: true}", "{default: true}\n  short: {max_wall: 2h}"),
    ("tier: 10\n", "tier: 10\n    default_time: 1h\n"),
    ("\nscheduler: {", f"{PLACES}\nscheduler: {{max_cpus_per_gpu: {{default: 8}}, "),
)
NO_QOS = ("qos:\n  normal: {default: true}\n", "")
WAIT = ("scheduler: {", "scheduler: {over_limit: wait, ")
OVER = ("-p", "all", "-N", "2", "--gpus-per-node=6", "--mem=10M")  # red has 10


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("limits"), *SAID)) as twin:
        yield twin


@pytest.fixture
def idle(twin: Twin) -> Twin:
    twin.clear()
    return twin


def _ask(twin: Twin, *options: str) -> str | Refusal:
    [answer] = twin.submit([Ask("ann", ("--mem=10M", *options))])
    return answer


def _job(twin: Twin, number: str | Refusal) -> Job | None:
    return next((job for job in twin.jobs() if job.array == number), None)


def _waits(twin: Twin, number: str | Refusal, *reasons: str) -> bool:
    job = until(lambda: _decided(twin, number), "the job runs or has a reason", lambda: str(twin.jobs()))
    return bool(job.state == "PENDING" and job.reason.startswith(reasons))


def _decided(twin: Twin, number: str | Refusal) -> Job | None:
    job = _job(twin, number)
    return job if job and (job.state != "PENDING" or job.reason.startswith(("QOS", "Assoc"))) else None


def test_a_job_above_its_labs_cap_is_refused(idle: Twin) -> None:
    assert isinstance(_ask(idle, *OVER), Refusal)


@pytest.mark.parametrize("inventory", ["waits", "no_qos"])
def test_the_refusal_above_a_cap_depends_on_deny_on_limit(apart: None, tmp_path: Path, inventory: str) -> None:
    change = {"waits": WAIT, "no_qos": NO_QOS}[inventory]
    with Twin.start(changed(SMALL, tmp_path, change)) as twin:
        answer = _ask(twin, *OVER)
        if inventory == "no_qos":
            assert isinstance(answer, Refusal), "Slurm's own QoS refuses, too"
        else:
            assert _waits(twin, answer, "AssocGrpGRES")


@pytest.mark.parametrize(
    "form", ["--gpus=4", "--gres=gpu:4", "--gpus-per-node=4", "-n 4 --gpus-per-task=1", "-N 2 --gpus-per-node=2"]
)
def test_every_form_of_the_minimum_is_accepted(idle: Twin, form: str) -> None:
    assert isinstance(_ask(idle, "-p", "large", *form.split()), str)
    assert isinstance(_ask(idle, "-p", "gpus", *form.split()), str)


@pytest.mark.parametrize("form", ["", "--gpus=3", "--gres=gpu:3", "-n 3 --gpus-per-task=1", "--array=1-4 --gpus=1"])
def test_a_job_below_the_minimum_is_refused(idle: Twin, form: str) -> None:
    assert isinstance(_ask(idle, "-p", "large", *form.split()), Refusal)


@pytest.mark.parametrize(
    ("asked", "becomes", "options"),
    [
        ("few,all", "all", ("-n", "9")),
        ("all,few", "all", ("-n", "9")),
        ("few,all", "few,all", ("-n", "8")),
        ("large,all", "all", ("--gpus=3",)),
        ("large,all", "large,all", ("--gpus=4",)),
        ("few,large", None, ("-n", "9")),
    ],
)
def test_a_job_in_two_partitions_may_exceed_the_limits_of_one(
    idle: Twin, asked: str, becomes: str | None, options: tuple[str, ...]
) -> None:
    number = _ask(idle, "-p", asked, *options, "--hold")
    if becomes is None:
        assert isinstance(number, Refusal)
    else:
        job = _job(idle, number)
        assert job is not None, number
        assert job.partition == becomes


def test_a_pending_job_cannot_be_changed_below_the_minimum(idle: Twin) -> None:
    number = _ask(idle, "-p", "large", "--gres=gpu:4", "--hold")
    idle.run(f"runuser -u ann -- scontrol update JobId={number} TresPerNode=gres/gpu:1")
    idle.run(f"runuser -u ann -- scontrol release {number}")
    job = until(lambda: _decided(idle, number), "the job runs or waits for its least", lambda: str(idle.jobs()))
    assert job.state == "PENDING" or job.gpus >= 4, "either it was not changed, or it does not run"


def test_a_job_without_gpus_is_refused_or_sent_to_another_partition(idle: Twin) -> None:
    refused = _ask(idle, "-p", "gpus")
    assert isinstance(refused, Refusal)
    assert "is for jobs with GPUs" in refused.message
    sent = _job(idle, _ask(idle, "-p", "either"))
    assert sent is not None
    assert sent.partition == "all"


def test_a_job_without_gpus_cannot_be_moved_there(idle: Twin) -> None:
    number = _ask(idle, "-p", "all", "--hold")
    assert idle.run(f"runuser -u ann -- scontrol update JobId={number} Partition=gpus").code
    job = _job(idle, number)
    assert job is not None
    assert job.partition == "all"


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (("-p", "red"), "01:00:00"),
        (("-p", "red", "--qos=short"), "01:00:00"),
        (("-p", "red", "--time=90"), "01:30:00"),
        (("-p", "all", "--qos=short"), "02:00:00"),
    ],
)
def test_a_job_without_a_time_has_the_default(idle: Twin, options: tuple[str, ...], limit: str) -> None:
    number = _ask(idle, *options, "--hold")
    shown = idle.run(f"scontrol -o show job {number}").out
    assert re.findall(r" TimeLimit=(\S+)", shown) == [limit], shown


def test_submitted_jobs_count_with_every_task_of_an_array(idle: Twin) -> None:
    assert isinstance(_ask(idle, "-p", "all", "--hold", "--array=1-21"), Refusal)
    assert isinstance(_ask(idle, "-p", "all", "--hold", "--array=1-20"), str)
    assert isinstance(_ask(idle, "-p", "red", "--hold"), Refusal)


def _shown(twin: Twin, number: str | Refusal) -> dict[str, str]:
    words = twin.run(f"scontrol -o show job {number}").out.split()
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def _charged(twin: Twin, number: str | Refusal) -> str | None:
    shown = _shown(twin, number)
    # Slurm 22.05 has one field for the requested TRES, and for those of a running job
    return shown.get("AllocTRES", shown.get("TRES")) if shown["JobState"] == "RUNNING" else None


def test_cpus_are_allocated_with_gpus_up_to_a_maximum(idle: Twin) -> None:
    number = _ask(idle, "-p", "gpus", "--gpus=2")
    assert until(lambda: _charged(idle, number), "it runs", lambda: str(idle.jobs())).startswith("cpu=6,")
    refused = _ask(idle, "-p", "gpus", "--gpus=1", "-c", "9")
    assert isinstance(refused, Refusal)
    assert "9 CPUs per GPU: at most 8" in refused.message
    held = _ask(idle, "-p", "gpus", "--gpus=1", "--hold")
    for change in ("CPUsPerTask=9", "NumCPUs=9-9", "MinCPUsNode=9"):
        assert idle.run(f"runuser -u ann -- scontrol update JobId={held} {change}").code, change


def test_a_job_has_its_whole_node_and_is_charged_for_it(idle: Twin) -> None:
    [number] = idle.submit([Ask("ann", ("-p", "whole"))])
    charged = until(lambda: _charged(idle, number), "it runs", lambda: str(idle.jobs()))
    assert re.match(r"cpu=64,mem=\d+M,node=1,billing=64,gres/gpu=8", charged), charged
    shown = _shown(idle, number)
    assert (shown["QOS"], shown["MinMemoryNode"], shown["TimeLimit"]) == ("short", "0", "02:00:00")
    assert _waits(idle, _ask(idle, "-p", "whole"), "AssocGrpGRES"), "the lab's cap is 10 GPUs"
    pending = idle.submit([Ask("ann", ("-p", "whole", "--hold"))])[0]
    assert idle.run(f"runuser -u ann -- scontrol update JobId={pending} Partition=all").code, "with all that memory"


def test_no_user_keeps_a_node(idle: Twin) -> None:
    assert isinstance(_ask(idle, "-p", "all", "--gpus=1", "--exclusive=user"), Refusal)


def _outcomes(twin: Twin) -> dict[str, str]:
    done = rehearse(twin, twin.cluster, only={"least", "walls"})
    return {finding.promise: finding.outcome for finding in done.findings}


def test_a_rehearsal_confirms_the_minimum_and_the_times(idle: Twin) -> None:
    assert _outcomes(idle) == {"least": "kept", "walls": "kept"}


def test_a_rehearsal_finds_a_missing_minimum_and_time(apart: None, tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, *SAID)
    wanted = compiled(cluster)
    conf = wanted.files["/etc/slurm/slurm.conf"]
    files = {
        **wanted.files,
        "/etc/slurm/slurm.conf": re.sub(r" QOS=partition-\w+| DefaultTime=\S+|JobSubmitPlugins=lua", "", conf),
    }
    with Twin.start(cluster, replace(wanted, files=files)) as twin:
        assert _outcomes(twin) == {"least": "broken", "walls": "broken"}
