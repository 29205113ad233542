"""Jobs in squeue's output: columns of text, and JSON of three releases."""

from pathlib import Path

import pytest

from gpupool.slurm.jobs import ON_NODES, Job, entries, read
from gpupool.slurm.times import seconds

RECORDED = Path(__file__).parents[1] / "arbiter"
HOSTILE = Path(__file__).parent / "recorded"


def test_jobs_are_read_by_the_requested_columns() -> None:
    answer = "12_3|u-lab1|lab1|a[1-2]|2026-11-23T16:00:00\n13|u-lab2|lab2||N/A\nslurm_load_jobs error\n"
    assert read(answer, "%i|%u|%a|%N|%e") == [
        Job("12_3", "u-lab1", "lab1", ("a1", "a2"), "2026-11-23T16:00:00"),
        Job("13", "u-lab2", "lab2"),
    ]
    (job,) = read("7|PENDING|short,long|a1|1:01:00", "%i|%T|%P|%n|%l")
    assert (job.state, job.partitions, job.needs, job.nodes) == ("PENDING", ("short", "long"), ("a1",), ())
    assert seconds(job.limit) == 3660


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_no_column_contains_text_of_a_user(version: str) -> None:
    """The job was submitted with a name and a comment that imitate other keys, with newlines in them."""
    (job,) = read((HOSTILE / f"{version}.squeue.txt").read_text(), "%i|%T|%u|%a|%q|%P|%N|%n|%e")
    assert (job.id, job.state, job.user, job.nodes, job.needs) == ("1", "RUNNING", "ann", ("gpu-2",), ("gpu-2",))
    assert (job.partitions, job.ends[:10]) == (("all",), "2026-11-26")


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_the_json_of_every_release_has_the_same_content(version: str) -> None:
    jobs = entries((RECORDED / version / "squeue.json").read_text())
    running = [job for job in jobs if job.states == {"RUNNING"} and job.text("account") == "cvmlp-lab"]
    assert sorted(job.has["gres/gpu"] for job in running)[-4:] == [1, 1, 1, 2]
    assert all((job.number("start_time") or 0) > 0 and job.states <= {*ON_NODES} for job in running)
    array = next(job for job in jobs if job.text("state_reason") == "JobArrayTaskLimit")
    assert array.tasks >= array.tasks_at_once >= 1
    tasks = [job.name for job in running if job.name.startswith(f"{array.number('array_job_id')}_")]
    assert [name.partition("_")[2] for name in tasks] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("text", "tasks", "at_once"),
    [
        *(("1-4", 4, 4), ("2-5,9", 5, 5), ("2-5,9%2", 5, 2), ("0-6:2,9", 5, 5), ("0-8:4", 3, 3)),
        *(("1-2%9", 2, 2), ("7", 1, 1), ("1,2,...", 2, 2), ("0-6:...", 7, 7), ("", 1, 1), ("1-9%0", 9, 9)),
    ],
)
def test_tasks_of_a_pending_array_are_counted(text: str, tasks: int, at_once: int) -> None:
    (job,) = entries('{"jobs": [{"array_task_id": null, "array_task_string": "%s"}]}' % text)  # noqa: UP031
    assert (job.tasks, job.tasks_at_once) == (tasks, at_once)


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("7", 7),
        ("null", None),
        ('{"set": true, "infinite": false, "number": 7}', 7),
        ('{"set": false, "infinite": false, "number": 0}', None),
        ('{"set": true, "infinite": true, "number": 0}', None),
    ],
)
def test_the_number_forms_of_all_releases_are_read(field: str, number: int | None) -> None:
    assert entries('{"jobs": [{"n": %s}]}' % field)[0].number("n") == number  # noqa: UP031


@pytest.mark.parametrize("field", ['"7"', "true", "[7]"])
def test_other_forms_of_a_number_are_refused(field: str) -> None:
    with pytest.raises(TypeError, match="is not a number"):
        entries('{"jobs": [{"n": %s}]}' % field)[0].number("n")  # noqa: UP031
