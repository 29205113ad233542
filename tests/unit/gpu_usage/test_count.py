"""The counts of gpu_usage: recorded queues of three Slurm versions, and random ones compared with a second count."""

import json
import re
from pathlib import Path
from typing import Any

import arbitrated
import pytest
from hypothesis import given
from hypothesis import strategies as some
from inventories import cluster_at

from gpupool.compile.system import tools
from gpupool.node import commands
from gpupool.programs.gpu_usage import count, jobs, table
from gpupool.programs.gpu_usage.count import Row, Settings
from gpupool.programs.gpu_usage.jobs import Job, QueueError
from gpupool.slurm.jobs import entries

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests" / "unit" / "arbiter"
LABS = {"blue-lab": 4, "red-lab": 2, "dept": 3, "dept.a": None, "dept.b": 1, "overcap": None, "free": None}
POOL = Settings(LABS, {"dept.a": "dept", "dept.b": "dept"}, ("overcap",), ("short", "long", "red-lab"), {"a40": 8})
each_version = pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])


def skynet() -> Settings:
    data = tools.settings(cluster_at(ROOT / "inventory" / "skynet"))
    keys = ("caps", "parents", "lending", "partitions", "types")
    return Settings(*(data[key] for key in keys))


def recorded(version: str) -> list[Job]:
    """Lab cvmlp-lab with 5 GPUs in user-overcap and one more in overcap; six GPUs are pending."""
    return jobs.read(entries((RECORDED / version / "squeue.json").read_text()))


def row(rows: list[Row], name: str) -> Row:
    return next(entry for entry in rows if entry.name == name)


@each_version
@pytest.mark.promise("SKY-113")
def test_users_are_counted_with_every_version(version: str) -> None:
    rows = count.by_user(recorded(version), skynet())
    assert [(row.name, row.lab, row.running, row.pending, row.overcap, row.cpus) for row in rows] == [
        ("u-cvmlp1", "cvmlp-lab", 6, 1, 1, 5),
        ("u-cvmlp2", "cvmlp-lab", 0, 5, 0, 0),
    ]


@each_version
@pytest.mark.promise("SKY-115")
def test_labs_are_counted_with_every_version(version: str) -> None:
    """A line for each lab with its cap; borrowed GPUs count for the lab of their user, not against its cap."""
    rows = count.by_lab(recorded(version), skynet())
    assert sum(row.cap or 0 for row in rows) == 284
    assert len(rows) == 14
    lab = row(rows, "cvmlp-lab")
    assert (lab.running, lab.pending, lab.cap, lab.left, lab.overcap, lab.types) == (6, 6, 64, 59, 1, {"titan_x": 6})


@each_version
def test_partitions_are_counted_with_every_version(version: str) -> None:
    """The job with two partitions counts for the first."""
    rows = count.by_partition(recorded(version), skynet())
    assert [(row.name, row.running, row.pending) for row in rows] == [
        ("short", 0, 3),
        ("cvmlp-lab", 0, 2),
        ("user-overcap", 5, 1),
        ("overcap", 1, 0),
    ]


@each_version
@pytest.mark.promise("SKY-114")
def test_the_users_of_one_lab_are_selected(version: str) -> None:
    queue, settings = recorded(version), skynet()
    other = Job("u-kira1", "kira-lab", "kira-lab", "short", True, {"a40": 1}, 6)
    assert {job.user for job in count.chosen([*queue, other], "cvmlp-lab", settings)} == {"u-cvmlp1", "u-cvmlp2"}
    assert count.chosen([*queue, other], "kira-lab", settings) == [other]
    assert len(count.chosen(queue, "short", settings)) == 3
    assert [job.account for job in count.chosen(queue, "overcap", settings)] == ["overcap"]
    with pytest.raises(KeyError):
        count.chosen(queue, "no-lab", settings)


def test_a_department_includes_its_groups() -> None:
    queue = [Job("a", name, "people", "short", True, {"a40": 1}, 1) for name in ("dept.a", "dept.b", "dept")]
    rows = count.by_lab(queue, POOL)
    shown = [(row.name, row.depth, row.running, row.left) for row in rows if row.name.startswith("dept")]
    assert shown == [("dept", 0, 3, 0), ("dept.a", 1, 1, None), ("dept.b", 1, 1, 0)]


@pytest.mark.parametrize(
    ("text", "tasks"), [("4-9%2", 6), ("1,3,7", 3), ("0-8:4", 3), ("", 1), ("2-5,9", 5), ("1-3000", 3000)]
)
def test_pending_tasks_of_an_array_all_count(text: str, tasks: int) -> None:
    queue = json.loads((RECORDED / "26.05" / "squeue.json").read_text())
    entry = next(job for job in queue["jobs"] if job["job_state"] == ["PENDING"])
    entry |= {"array_task_string": text, "tres_req_str": "cpu=2,gres/gpu=2"}
    (read,) = jobs.read(entries(json.dumps({"jobs": [entry]})))
    assert (read.gpus, read.cpus) == ({"any": 2 * tasks}, 2 * tasks)


@pytest.mark.parametrize("lost", ["tres_alloc_str", "account", "job_state", "group_name", "partition"])
def test_a_missing_field_is_named(lost: str) -> None:
    queue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    for entry in queue["jobs"]:
        del entry[lost]
    with pytest.raises(QueueError, match=lost):
        jobs.read(entries(json.dumps(queue)))


@pytest.mark.parametrize("text", ["[]", '{"jobs": [1]}', "slurm_load_jobs error"])
def test_an_invalid_answer_is_no_queue(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "run", lambda *_: commands.Result(text, "", 0))
    with pytest.raises(QueueError, match=r"^squeue: 0 values for \d+ columns$"):
        jobs.ask()


def test_an_unreadable_job_is_an_error_and_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def squeue(command: list[str], *_: object) -> commands.Result:
        text = arbitrated.shown((RECORDED / "24.11" / "squeue.json").read_text(), arbitrated.mark_of(command))
        return commands.Result(text.replace("cpu=1,", "cpu=many,", 1), "", 0)

    monkeypatch.setattr(commands, "run", squeue)
    with pytest.raises(QueueError, match="cpu='many' is not an amount"):
        jobs.read(jobs.ask())


def number(value: int | None, version: str) -> Any:
    if version == "22.05":
        return value
    return {"set": value is not None, "infinite": False, "number": value or 0}


_ENTRIES = some.lists(
    some.fixed_dictionaries(
        {
            "user_name": some.sampled_from(["ann", "bob", "eve"]),
            "group_name": some.sampled_from(["blue-lab", "red-lab", "people"]),
            "account": some.sampled_from([*LABS, "unheard-of"]),
            "partition": some.sampled_from(["short", "long", "short,long", "red-lab", "gone"]),
            "state": some.sampled_from(["RUNNING", "PENDING", "SUSPENDED", "COMPLETED", "CANCELLED", "TIMEOUT"]),
            "typed": some.dictionaries(some.sampled_from(["a40", "v100"]), some.integers(1, 8), max_size=2),
            "untyped": some.integers(0, 4),
            "cpus": some.integers(1, 64),
            "tasks": some.one_of(some.none(), some.integers(1, 50)),
        }
    ),
    max_size=30,
)


def queue_of(drawn: list[dict[str, Any]], version: str) -> str:
    """Return a queue in the format of that version."""
    queue = []
    for job in drawn:
        count_all = sum(job["typed"].values()) + job["untyped"]
        typed = "".join(f",gres/gpu:{kind}={n}" for kind, n in job["typed"].items())
        tres = f"cpu={job['cpus']},mem=30G,node=1,billing=1" + (f",gres/gpu={count_all}{typed}" if count_all else "")
        runs = job["state"] in ("RUNNING", "SUSPENDED")
        waits = job["tasks"] is not None and job["state"] == "PENDING"
        queue.append(
            {
                **{key: job[key] for key in ("user_name", "group_name", "account", "partition")},
                "job_state": job["state"] if version == "22.05" else [job["state"]],
                "tres_req_str": tres,
                "tres_alloc_str": tres if runs else "",
                "array_task_id": number(None, version),
                "array_task_string": f"3-{job['tasks'] + 2}%4" if waits else "",
            }
        )
    return json.dumps({"jobs": queue})


def reckoned(text: str) -> dict[str, int]:
    """Count again in another way: from the text of each job."""
    sums = dict.fromkeys(("running", "pending", "overcap"), 0)
    for entry in json.loads(text)["jobs"]:
        state = re.findall("[A-Z]+", json.dumps(entry["job_state"]))[0]
        tres = entry["tres_alloc_str"] or entry["tres_req_str"]
        gpus = int((re.findall(r"gres/gpu=(\d+)", tres) or [0])[0])
        if state in ("RUNNING", "SUSPENDED"):
            sums["running"] += gpus
            sums["overcap"] += gpus if entry["account"] == "overcap" else 0
        if state == "PENDING":
            span = re.match(r"(\d+)-(\d+)", entry["array_task_string"])
            sums["pending"] += gpus * len(range(int(span[1]), int(span[2]) + 1) if span else "1")
    return sums


@given(_ENTRIES, some.sampled_from(["22.05", "24.11"]))
def test_all_sums_agree_with_a_second_count(drawn: list[dict[str, Any]], version: str) -> None:
    text = queue_of(drawn, version)
    queue, wanted = jobs.read(entries(text)), reckoned(text)
    assert jobs.unpack(json.loads(json.dumps(jobs.pack(queue)))) == queue
    everything = count.total(queue, POOL)
    assert {key: getattr(everything, key) for key in wanted} == wanted
    for by, made in (("user", count.by_user), ("partition", count.by_partition), ("lab", count.by_lab)):
        rows = [row for row in made(queue, POOL) if not row.depth]
        for key, sum_of_all in wanted.items():
            assert sum(getattr(row, key) for row in rows) == sum_of_all
        for row in rows:
            assert sum(row.types.values()) == row.running
            if row.cap is not None:
                assert row.left == max(0, row.cap - (row.running - row.overcap))
        head, *lines, last = table.lines(rows, everything, by, ["a40", "v100", "any"], table.Look())
        column = head.split().index("RUNNING")
        assert int(last.split()[column]) == sum(int(line.split()[column]) for line in lines) == wanted["running"]
        assert len({len(line) for line in (head, *lines, last)}) == 1, "the columns are aligned"


@pytest.mark.parametrize(("share", "text"), [(0, "·" * 10), (0.5, "█████·····"), (0.33, "███▎······"), (2, "█" * 10)])
def test_a_bar_shows_the_share_of_the_cap(share: float, text: str) -> None:
    assert table.bar(share) == text


def test_columns_that_exceed_the_terminal_are_left_out() -> None:
    queue = [Job("a", "blue-lab", "blue-lab", "short", True, {"a40": 2}, 1)]
    rows, everything = count.by_lab(queue, POOL), count.total(queue, POOL)
    widths = {}
    for width in (200, 62, 50):
        lines = table.lines(rows, everything, "lab", ["a40", "v100"], table.Look(width, bars=True))
        widths[width] = ("█" in "".join(lines), "v100" in lines[0])
        assert max(map(len, lines)) <= width
    assert widths == {200: (True, True), 62: (False, True), 50: (False, False)}
    whole = table.lines(rows, everything, "lab", ["a40", "v100"], table.Look())
    assert table.lines(rows, everything, "lab", ["a40", "v100"], table.Look(len(whole[0]))) == whole
