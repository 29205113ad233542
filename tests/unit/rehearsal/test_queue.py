"""The output of a twin's squeue, sbatch and sacct, as the rehearsal reads it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupool.cluster.load import load
from gpupool.errors import TwinError
from gpupool.rehearsal.twin import queue as twin_queue
from gpupool.rehearsal.twin.jobs import Ask, Job, Refusal
from gpupool.rehearsal.twin.queue import answers, ended, jobs, submission


def _row(**texts: str) -> str:
    shown = {
        "JobArrayID": "12_3", "UserName": "u-kira1", "Account": "kira-lab", "Partition": "short,user-overcap",
        "QOS": "normal", "State": "RUNNING", "Reason": "None", "NodeList": "a40-[01-02]", "RestartCnt": "1",
        "StartTime": "2026-01-02T03:04:05", "TimeLimit": "2-00:00:00", "NumCPUs": "7", "Name": "sbatch",
        "tres-alloc": "cpu=7,mem=30G,node=2,billing=7,gres/gpu=2,gres/gpu:a40=2",
    } | texts  # fmt: skip
    widths = {word.partition(":")[0]: int(word.partition(":")[2]) for word in twin_queue.LOOK.split()[-1].split(",")}
    return "".join(f"{shown[name]:<{width}}" for name, width in widths.items())


def test_a_job_is_read_from_squeues_output() -> None:
    assert jobs(_row() + "\n") == [
        Job(
            id="12_3",
            user="u-kira1",
            account="kira-lab",
            partition="short,user-overcap",
            qos="normal",
            state="RUNNING",
            reason="None",
            gpus=2,
            cpus=7,
            nodes=("a40-01", "a40-02"),
            restarts=1,
            start=1767323045.0,
            limit=172800,
            mem=30720,
            name="sbatch",
            gpu_types={"a40": 2},
        )
    ]
    assert jobs(_row())[0].array == "12"


def test_a_job_without_a_start_time_is_read() -> None:
    texts = {"StartTime": "N/A", "NodeList": "", "TimeLimit": "UNLIMITED", "State": "PENDING", "tres-alloc": "cpu=1"}
    job = jobs(_row(**texts))[0]
    assert (job.start, job.nodes, job.limit, job.gpus, job.cpus, job.mem) == (None, (), None, 0, 1, 0)


@given(st.integers(0, 10**7))
def test_time_limits_are_read_in_every_form(seconds: int) -> None:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    assert jobs(_row(TimeLimit=f"{days}-{clock}" if days else clock))[0].limit == seconds


def test_answers_of_sbatch_are_in_their_order() -> None:
    output = "taken 7\nrefused sbatch: error: Batch job submission failed: Invalid account \ntaken 8\n"
    assert answers(output, 3) == ["7", Refusal("Batch job submission failed: Invalid account"), "8"]
    with pytest.raises(TwinError, match="4 jobs were submitted, but there were 3 answers"):
        answers(output, 4)


def test_the_state_of_slurmctld_overrides_that_of_slurmdbd() -> None:
    output = "5|RUNNING\n6_1|CANCELLED\n--\n5|PENDING\n4|CANCELLED by 0\n6_[2-9]|PENDING\n"
    assert ended(output) == {"5": "RUNNING", "6_1": "CANCELLED", "4": "CANCELLED"}


def test_jobs_are_submitted_as_their_users_with_every_word_quoted() -> None:
    cluster = load(Path(__file__).parents[3] / "inventory" / "skynet")
    text = submission(cluster, [Ask("u-kira1", ("-p", "short", "--comment=a b'c"), "#!/bin/sh\necho $HOME\n")])
    assert """one 20031 5003 u-kira1 /nethome/u-kira1 -p short '--comment=a b'"'"'c' <<'END-OF-JOB'""" in text
    assert "\necho $HOME\nEND-OF-JOB\n" in text
    with pytest.raises(TwinError, match="u-none1 is not a user of skynet"):
        submission(cluster, [Ask("u-none1")])
