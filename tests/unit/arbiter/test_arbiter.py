"""The arbiter's reading and decisions: recorded output of three Slurm versions, and rules for any queue."""

import contextlib
import dataclasses
import json
import re
import socket
import time
from pathlib import Path

import arbitrated
import pytest
from arbitrated import NOW, RULES, evicted
from inventories import cluster_at

from gpupool.compile.slurm.arbiter import settings
from gpupool.programs.arbiter import __main__ as service
from gpupool.programs.arbiter import decide, jobs, limits, room
from gpupool.programs.arbiter.decide import Settings
from gpupool.programs.arbiter.jobs import Job, UnsureError
from gpupool.programs.arbiter.limits import Limits
from gpupool.programs.arbiter.room import Node
from gpupool.slurm import snapshot, tres
from gpupool.slurm.queue import COLUMNS

RECORDED = Path(__file__).parent
MARK = "m0123456789abcdef"
SKYNET = Path(__file__).parents[3] / "inventory" / "skynet"
each_version = pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])


def recorded(version: str) -> tuple[list[Job], Limits, list[Node]]:
    """Lab cvmlp-lab at its cap of 5 GPUs, all in user-overcap; u-cvmlp2 waits for one GPU, and for two a40."""
    folder = RECORDED / version
    queue = arbitrated.read((folder / "squeue.json").read_text())
    known = limits.read((folder / "limits.txt").read_text())
    return queue, known, room.read((folder / "nodes.txt").read_text())


def unmarked(queue: list[Job]) -> list[Job]:
    return [dataclasses.replace(job, comment="") for job in queue]


# Slurm's output


@each_version
def test_every_version_of_squeue_is_understood(version: str) -> None:
    queue, _, _ = recorded(version)
    waiting = [job for job in queue if job.pending and job.reason == "AssocGrpGRES"]
    assert [(job.user, job.asks["gres/gpu"], job.peculiar) for job in waiting] == [
        ("u-cvmlp2", 1, False),
        ("u-cvmlp2", 2, False),
    ]
    assert waiting[0].partitions == ("short", "user-overcap")
    running = [job for job in queue if job.running and job.account == "cvmlp-lab"]
    assert sorted(job.amount("gres/gpu") for job in running)[-4:] == [1, 1, 1, 2]
    assert all(job.start and job.end > job.start and not job.preempted for job in running)
    assert next(job for job in queue if job.reason == "Dependency").peculiar
    assert next(job for job in queue if job.reason == "JobHeldUser").priority == 0


@each_version
def test_tasks_of_an_array_have_different_names(version: str) -> None:
    queue, _, _ = recorded(version)
    array = next(job for job in queue if job.reason == "JobArrayTaskLimit").name.partition("_")[0]
    tasks = [job for job in queue if job.running and job.name.startswith(f"{array}_")]
    assert [job.name.partition("_")[2] for job in tasks] == ["1", "2", "3"]
    assert not any(job.requeue for job in tasks)


@each_version
def test_limits_are_read_with_what_is_used_of_them(version: str) -> None:
    _, known, _ = recorded(version)
    assert known.accounts["cvmlp-lab"].most["gres/gpu"] == 5
    assert known.accounts["cvmlp-lab"].used["gres/gpu"] == 5
    assert known.parents["cvmlp-lab"] == "root"
    assert known.qos_users["cvmlp-user-limits", "u-cvmlp1"].most == {"cpu": 112, "gres/gpu": 16}


@each_version
def test_the_youngest_that_free_enough_leave_and_no_more(version: str) -> None:
    queue, known, nodes = recorded(version)
    chosen = evicted(unmarked(queue), known, nodes)
    array = next(job for job in queue if job.reason == "JobArrayTaskLimit").name.partition("_")[0]
    assert {decision.act for decision in chosen} == {"signal"}
    assert sorted(decision.job.name for decision in chosen) == [f"{array}_1", f"{array}_2", f"{array}_3"]
    assert {decision.mark and decision.mark.at for decision in chosen} == {NOW + 61}


@each_version
def test_jobs_that_are_signalled_already_count_as_leaving(version: str) -> None:
    """The recorded job of two GPUs carries a mark of this run: only one more GPU is missing."""
    queue, known, nodes = recorded(version)
    assert sum(decision.job.amount("gres/gpu") for decision in evicted(queue, known, nodes)) == 1


@each_version
@pytest.mark.parametrize("wish", [{"licenses": "matlab:1"}, {"dependency": "singleton"}])
def test_the_former_reason_of_a_running_job_does_not_protect_it(version: str, wish: dict[str, str]) -> None:
    squeue = json.loads((RECORDED / version / "squeue.json").read_text())
    for entry in squeue["jobs"]:
        if "RUNNING" in entry["job_state"]:
            entry.update(wish)
    queue = unmarked(arbitrated.read(json.dumps(squeue)))
    _, known, nodes = recorded(version)
    assert evicted(queue, known, nodes)


@pytest.mark.parametrize(("text", "mib"), [("gpu:100", 100), ("gpu:a40:100,gpu:50", 100), ("gpu:x", None), ("", None)])
def test_memory_by_gpu_in_any_form_is_no_reason_to_stop(text: str, mib: int | None) -> None:
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    for entry in squeue["jobs"]:
        entry["memory_per_tres"] = text
    for job, entry in zip(arbitrated.read(json.dumps(squeue)), squeue["jobs"], strict=True):
        asked = tres.read(entry["tres_req_str"])
        assert job.asks["mem"] == (asked["mem"] if mib is None else mib * asked.get("gres/gpu", 0))


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("1-4", 4), ("2-5,9", 5), ("2-5,9%2", 2), ("0-6:2,9", 5), ("1-2%9", 2), ("7", 1), ("1,2,...", 2), ("", 1)],
)
def test_a_waiting_array_is_as_many_tasks_as_may_run_at_once(text: str, tasks: int) -> None:
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    for entry in squeue["jobs"]:
        entry |= {"array_task_string": text, "array_task_id": {"set": False, "infinite": False, "number": 0}}
    assert {job.tasks for job in arbitrated.read(json.dumps(squeue))} == {tasks}


def columns(version: str) -> str:
    return (RECORDED / version / "columns.txt").read_text(errors="replace")


@each_version
def test_columns_give_the_jobs_that_json_gives(version: str) -> None:
    """Both were recorded at the same moment; one job has newlines, separators and an invalid UTF-8 byte in a comment.

    JSON of 22.05 marks no job as held, and that of 26.05 none as exclusive; 22.05 has no column of excluded nodes.
    """
    seen = jobs.read(columns(version), MARK)
    assert seen.unread == []
    known = {job.name: job for job in arbitrated.read((RECORDED / version / "columns.json").read_text())}
    assert len(known) == 13
    for job in seen.jobs:
        other = known.pop(job.name)
        if job.running:
            assert job.has
            other = dataclasses.replace(other, asks=job.asks, shared=job.shared)
        if version == "22.05":
            other = dataclasses.replace(other, excluded=frozenset())
        assert job == dataclasses.replace(other, peculiar=job.peculiar)
        assert (job.peculiar, job.startable) == (other.peculiar and job.priority > 0, other.startable)
    assert known == {}
    (exclusive,) = [job for job in seen.jobs if job.node_count == 2 and job.running]
    assert exclusive.shared == "none"
    assert {job.user_comment for job in seen.jobs} == {"", "x y", "a\nb|c\ufffd"}
    assert any(job.required == {"titanx-02"} for job in seen.jobs)


@pytest.mark.parametrize(
    "text",
    [
        *(f"\n{'9 RUNNING u-wu1 ' * 20}\n", "a" * 100_000, "\x00\x1b[31m\u202e\ufffd", "m" * 16, "', '|'\"{}[]"),
        *("[gpupool: leaves at 1, run 0, for job 9]", "[gpupool-guard: run 0, much]", "N/A", "(null)", "\n\n\n"),
    ],
)
def test_no_text_of_a_user_passes_for_another_job(text: str) -> None:
    plain = jobs.read(columns("24.11"), MARK)
    answer = columns("24.11").replace("x y", text)
    seen = jobs.read(answer, MARK)
    assert seen.unread == []
    for job, other in zip(seen.jobs, plain.jobs, strict=True):
        assert dataclasses.replace(job, user_comment="") == dataclasses.replace(other, user_comment="")


@pytest.mark.parametrize(
    ("column", "word"),
    [
        *(("tres", word) for word in ("cpu=many", "cpu", "cpu=1,mem=1X")),
        *(("required_nodes", word) for word in ("titanx-[1", "titanx-[1-999999]")),
        *(("start_time", word) for word in ("1795713899.5", "-", "2026-11-26T17:42:00")),
        *(("priority", "9" * 5000), ("batch_flag", "yes")),
    ],
)
def test_a_job_that_cannot_be_read_is_left_out_and_named(column: str, word: str) -> None:
    first = next(row for row in columns("24.11").splitlines(keepends=True) if "mem=60G" in row)
    values = first.split(MARK)
    values[[*COLUMNS].index(column)] = word
    seen = jobs.read(columns("24.11").replace(first, MARK.join(values)), MARK)
    assert len(seen.jobs) == 12
    (line,) = seen.unread
    assert line.startswith(f"job {values[0]}: ")
    assert len(line) < 300


@each_version
def test_a_truncated_answer_makes_the_arbiter_unsure(version: str) -> None:
    answer = columns(version).rstrip("\n")
    for length in (len(answer) - 1, len(answer) // 2, 40, 1):
        with pytest.raises(UnsureError, match="squeue: "):
            jobs.read(answer[:length], MARK)
    assert jobs.read("", MARK).jobs == []


@pytest.mark.parametrize("text", ["", "[]", '{"jobs": [1]}', '{"jobs": {"a": 1}}', "slurm_load_jobs error"])
def test_an_invalid_answer_makes_the_arbiter_unsure(text: str) -> None:
    if text:
        with pytest.raises(UnsureError):
            jobs.read(text, MARK)
    with pytest.raises(UnsureError):
        limits.read(text)


def test_a_node_has_each_of_its_features_and_partitions() -> None:
    line = (RECORDED / "24.11" / "nodes.txt").read_text().splitlines()[0]
    (node,) = room.read(line.replace("ActiveFeatures=a40 ", "ActiveFeatures=a40,large "))
    assert node.features == ("a40", "large")
    assert {"debug", "kira-lab", "overcap"} <= set(node.partitions)


@pytest.mark.parametrize(
    ("state", "away"),
    [
        *((state, False) for state in ("IDLE", "MIXED", "ALLOCATED", "IDLE+CLOUD", "MIXED+PLANNED")),
        *((state, True) for state in ("DOWN", "IDLE+DRAIN", "FAIL", "IDLE*", "IDLE+NOT_RESPONDING", "MIXED+MAINT")),
        *((state, True) for state in ("IDLE+RESERVED", "UNKNOWN", "FUTURE", "IDLE+POWERED_DOWN", "IDLE+REBOOT_ISSUED")),
    ],
)
def test_a_node_where_no_job_can_start_is_away(state: str, away: bool) -> None:
    line = (RECORDED / "24.11" / "nodes.txt").read_text().splitlines()[0]
    (node,) = room.read(re.sub(r"\bState=\S+", f"State={state}", line))
    assert node.away == away


@pytest.mark.parametrize("key", ["CfgTRES", "AllocTRES"])
def test_a_node_without_its_amounts_makes_the_arbiter_unsure(key: str) -> None:
    line = (RECORDED / "24.11" / "nodes.txt").read_text().splitlines()[0]
    with pytest.raises(UnsureError, match=f" has no {key}$"):
        room.read(re.sub(rf"\b{key}=\S* ?", "", line))


def test_an_answer_without_nodes_makes_the_arbiter_unsure() -> None:
    with pytest.raises(UnsureError, match=r"^scontrol show nodes: no node in its answer$"):
        room.read("\n")


def test_grace_times_end_even_if_the_limits_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab waits at its cap, and the limits cannot be read: a job whose grace time is over is ended nevertheless."""
    now = int(time.time())
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    leaves = next(entry for entry in squeue["jobs"] if "RUNNING" in entry["job_state"])
    leaves |= {"preempt_time": number(now - 70), "end_time": number(now - 10), "admin_comment": ""}
    asked: list[str] = []

    def ask(command: list[str]) -> str:
        asked.append(" ".join(command))
        if command[:2] == ["scontrol", "ping"]:
            return f"Slurmctld(primary) at {socket.gethostname()} is UP"
        if command[0] == "squeue":
            return arbitrated.shown(json.dumps(squeue), arbitrated.mark_of(command))
        if command[:3] == ["scontrol", "show", "assoc_mgr"]:
            raise UnsureError("the limits")
        return ""

    monkeypatch.setattr(service, "ask", ask)
    with pytest.raises(UnsureError, match="the limits"):
        service.Arbiter(Settings(labmates=("user-overcap",), grace={"user-overcap": 60}, tier={})).cycle()
    (job,) = [read for read in arbitrated.read(json.dumps(squeue)) if read.preempted]
    (ended,) = [command for command in asked if job.name in command.split()]
    noted = f"scontrol update JobId={job.name} AdminComment=[gpupool: preempted by Slurm, run 0]"
    assert asked.index(noted) < asked.index(ended), "slurmdbd keeps the comment that a run has as it ends"


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_each_cycle_writes_the_queue_for_other_programs_without_comments(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []

    def ask(command: list[str]) -> str:
        if command[0] == "squeue":
            return columns(version).replace(MARK, arbitrated.mark_of(command))
        return f"Slurmctld(primary) at {socket.gethostname()} is UP"

    monkeypatch.setattr(service, "ask", ask)
    monkeypatch.setattr(service, "status", states.append)
    monkeypatch.setattr(time, "time", lambda: NOW)
    path = tmp_path / "queue.json"
    service.Arbiter(Settings(share=str(path))).cycle()
    known = snapshot.read(path.read_text())
    assert (known.at, known.is_fresh(NOW + 44), known.is_fresh(NOW + 45), known.is_fresh(NOW - 1)) == (
        NOW, True, False, False,
    )  # fmt: skip
    queue = jobs.read(columns(version), MARK).entries
    wanted = [(job.name, job.states, job.has, job.asks, job.text("account"), job.tasks) for job in queue]
    assert [
        (job.name, job.states, job.has, job.asks, job.text("account"), job.tasks) for job in known.entries
    ] == wanted
    assert "x y" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o644
    service.Arbiter(Settings(share=str(tmp_path / "none" / "queue.json"))).cycle()
    assert states[0] == "well"
    assert states[1].startswith("unwell: other programs do not get the queue: ")


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "slurmctld refuses the note"])
def test_a_cycle_asks_notes_signals_and_logs(
    noted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job whose mark cannot be written is not signalled: the arbiter would not know that it is leaving."""
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    for entry in squeue["jobs"]:
        entry["admin_comment"] = ""
    answers = {
        "scontrol ping": f"Slurmctld(primary) at {socket.gethostname()} is UP",
        "scontrol show assoc_mgr flags=assoc,qos accounts=cvmlp-lab": (RECORDED / "24.11" / "limits.txt").read_text(),
        "scontrol show nodes": (RECORDED / "24.11" / "nodes.txt").read_text(),
    }
    done: list[list[str]] = []

    def ask(command: list[str]) -> str:
        if (text := " ".join(command)) in answers:
            return answers[text]
        if command[0] == "squeue":
            return arbitrated.shown(json.dumps(squeue), arbitrated.mark_of(command))
        if command[0] == "sacct" or command[:2] == ["scontrol", "write"]:
            return ""
        if not noted and command[:2] == ["scontrol", "update"]:
            raise UnsureError("scontrol update: Invalid job id")
        done.append(command)
        return ""

    monkeypatch.setattr(service, "ask", ask)
    service.Arbiter(RULES).cycle()
    lines = capsys.readouterr().out.splitlines()
    if not noted:
        assert (done, set(lines)) == ([], {"scontrol update: Invalid job id"})
        return
    queue = arbitrated.read(json.dumps(squeue))
    array = next(job for job in queue if job.reason == "JobArrayTaskLimit").name.partition("_")[0]
    tasks = [f"{array}_{task}" for task in (1, 2, 3)]
    notes, signals = done[:-2], done[-2:]
    assert sorted(name for words in notes for name in words[2].removeprefix("JobId=").split(",")) == tasks
    assert all(words[3].startswith("AdminComment=[gpupool: leaves at ") for words in notes)
    assert [(words[:2], sorted(words[2:])) for words in signals] == [
        (["scancel", "--signal=CONT"], tasks),
        (["scancel", "--signal=TERM"], tasks),
    ]
    waits = [job.name for job in queue if job.pending and job.reason == "AssocGrpGRES"]
    whys = [f"is signalled: job {name} of u-cvmlp2 waits on the limit of cvmlp-lab (AssocGrpGRES)" for name in waits]
    assert [line.split(" in user-overcap ")[0].split(" of ")[0] for line in sorted(lines)] == [
        f"job {task}" for task in tasks
    ]
    assert {line.split(" in user-overcap ")[1] for line in lines} <= set(whys)


def test_the_next_look_is_over_a_second_before_a_grace_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stopped clock, a cycle takes no time; Slurm truncates times to seconds, so the arbiter waits one more."""
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    running = next(entry for entry in squeue["jobs"] if "RUNNING" in entry["job_state"])
    running |= {"preempt_time": number(NOW - 52), "end_time": number(NOW + 7), "admin_comment": ""}

    def ask(command: list[str]) -> str:
        if command[0] == "squeue":
            return arbitrated.shown(json.dumps({"jobs": [running]}), arbitrated.mark_of(command))
        return f"Slurmctld(primary) at {socket.gethostname()} is UP"

    monkeypatch.setattr(service, "ask", ask)
    monkeypatch.setattr(time, "time", lambda: NOW)
    assert service.Arbiter(RULES).cycle() == NOW + 7


@pytest.mark.parametrize("begun", [True, False])
def test_limits_and_nodes_are_read_once_slurm_has_begun_to_preempt(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    borrowers = [arbitrated.job(str(name), account="overcap", partitions=("overcap",)) for name in (1, 2)]
    if begun:
        borrowers[0] = dataclasses.replace(borrowers[0], preempted=NOW - 1, end=NOW + 60)
    seen = [*borrowers, arbitrated.waits("9", reason="Resources")]
    asked: list[str] = []

    def ask(command: list[str]) -> str:
        asked.append(" ".join(command).partition(" --")[0])
        if "show" in command:
            raise UnsureError("that is enough")
        return f"Slurmctld(primary) at {socket.gethostname()} is UP"

    monkeypatch.setattr(service, "ask", ask)
    monkeypatch.setattr(jobs, "read", lambda text, mark: jobs.Seen(list(seen), []))
    monkeypatch.setattr(time, "time", lambda: NOW)
    with contextlib.suppress(UnsureError):
        service.Arbiter(RULES).cycle()
    limits = ["scontrol show assoc_mgr flags=assoc,qos accounts=a"]
    assert asked == ["scontrol ping", "squeue", *(limits if begun else [])]


def number(value: int) -> dict[str, object]:
    """Return a number in the form of Slurm 24.11."""
    return {"set": True, "infinite": False, "number": value}


def test_the_mark_of_a_former_run_does_not_count() -> None:
    squeue = json.loads((RECORDED / "24.11" / "squeue.json").read_text())
    for entry in squeue["jobs"]:
        entry["admin_comment"] = f"[gpupool: leaves at {NOW}, run 1, for job 9]"
    for run, leaves in ((1, True), (2, False)):
        for entry in squeue["jobs"]:
            entry["restart_cnt"] = number(run)
        running = [job for job in arbitrated.read(json.dumps(squeue)) if job.running and not job.preempted]
        assert {decide.leaving(job) for job in running} == {leaves}


def test_the_service_logs_its_settings_and_each_reason_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []

    def ask(command: list[str]) -> str:
        raise UnsureError(f"{command[0]}: no answer")

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(service, "ask", ask)
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setattr(time, "sleep", sleep)
    file = tmp_path / "arbiter.json"
    file.write_text(json.dumps({"labmates": ["user-overcap"], "grace": {"user-overcap": 300}}))
    with pytest.raises(KeyboardInterrupt):
        service.main(str(file))
    assert capsys.readouterr().out.splitlines() == [
        "partitions preempted by labmates: user-overcap; checking every 15 s",
        "doing nothing: scontrol: no answer",
    ]
    assert slept == [15] * 4, "a controller in trouble is not asked more often"


@pytest.mark.parametrize("bug", [ValueError, KeyError, RecursionError, UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")])
def test_no_bug_ends_the_service(
    bug: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place of the error is in the journal once, and the status that verify reads describes it."""
    slept: list[float] = []
    statuses: list[str] = []

    def ask(command: list[str]) -> str:
        raise bug

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(service, "ask", ask)
    monkeypatch.setattr(service, "status", statuses.append)
    monkeypatch.setattr(time, "sleep", sleep)
    file = tmp_path / "arbiter.json"
    file.write_text(json.dumps({"labmates": ["user-overcap"], "grace": {"user-overcap": 300}}))
    with pytest.raises(KeyboardInterrupt):
        service.main(str(file))
    output = capsys.readouterr().out
    assert output.count("doing nothing: ") == 1
    assert "in ask" in output
    assert len(statuses) == 3
    assert all(line.startswith("unwell: doing nothing: ") for line in statuses)


def test_an_inactive_controller_waits_and_logs_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses: list[str] = []
    monkeypatch.setattr(service, "status", statuses.append)
    monkeypatch.setattr(service, "ask", lambda command: "Slurmctld(primary) at elsewhere is UP")
    arbiter = service.Arbiter(RULES)
    with pytest.raises(UnsureError) as raised:
        arbiter.cycle()
    arbiter.complain(raised.value)
    assert statuses == ["waiting: this controller is not the active one"]


def test_a_job_that_has_ended_does_not_keep_others_from_being_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """For several jobs, scontrol changes some and fails for all of them if one has ended."""
    done: list[str] = []

    def ask(command: list[str]) -> str:
        if command[:2] == ["scontrol", "update"] and "4" in command[2].removeprefix("JobId=").split(","):
            raise UnsureError("scontrol update: Invalid job id")
        done.append(" ".join(command))
        return ""

    monkeypatch.setattr(service, "ask", ask)
    some = [decide.signal(arbitrated.job(name), arbitrated.waits("9"), RULES, NOW, "for 9") for name in ("3", "4", "5")]
    carried = service.Arbiter(dataclasses.replace(RULES, user_signal=False)).act(some)
    assert [decision.job.name for decision in carried] == ["3", "5"]
    assert done[-2:] == ["scancel --signal=CONT 3 5", "scancel --signal=TERM 3 5"]


def test_room_that_was_not_used_is_made_again_after_twice_the_time() -> None:
    arbiter = service.Arbiter(RULES)
    waits = []
    for at in (NOW, NOW + 1000, NOW + 2000, NOW + 3000):
        arbiter.settle(decide.Mark(at, 0, "9"), [arbitrated.waits("9")])
        arbiter.settle(decide.Mark(at, 0, "9"), [arbitrated.waits("9")])
        waits.append(arbiter.recent["9"] - at)
    assert waits == [60, 120, 240, 480]
    for at in range(NOW + 4000, NOW + 24_000, 1000):
        arbiter.settle(decide.Mark(at, 0, "9"), [arbitrated.waits("9")])
    assert arbiter.recent["9"] - at == 60 * 2**9
    began = arbitrated.job("9_4", start=at + 10)
    arbiter.settle(decide.Mark(at + 1000, 0, "9"), [began])
    assert arbiter.recent["9"] - at - 1000 == 60, "a task of the array has started"


def test_without_a_partition_to_watch_the_service_sleeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """systemd would restart a service that exits, again and again."""

    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(service.Arbiter, "cycle", lambda _: pytest.fail("it began to look"))
    file = tmp_path / "arbiter.json"
    file.write_text(json.dumps({"labmates": [], "grace": {}}))
    with pytest.raises(KeyboardInterrupt):
        service.main(str(file))
    assert slept == [service.IDLE] * 3
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "nothing to do: no partition is preempted by labmates, and none has a grace time"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["sh", "-c", "echo one; echo two >&2; exit 1"], "sh -c echo one; echo two >&2; exit 1: two"),
        (["sh", "-c", "echo one; exit 1"], "sh -c echo one; exit 1: one"),
        (["sh", "-c", "exit 3"], "sh -c exit 3: exit code 3"),
        (["/nowhere/squeue", "--json"], "/nowhere/squeue: not installed"),
    ],
)
def test_a_command_that_fails_makes_the_arbiter_unsure_with_the_reason(command: list[str], why: str) -> None:
    with pytest.raises(UnsureError) as raised:
        service.ask(command)
    assert str(raised.value) == why
    assert service.answer(command) == ""


def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "SLOW", 0.01)
    with pytest.raises(UnsureError, match=r"^sleep infinity: no answer within 0\.01 s$"):
        service.ask(["sleep", "infinity"])


# The cluster's settings


def test_the_settings_of_skynets_arbiter_name_who_is_preempted() -> None:
    data = settings(cluster_at(SKYNET))
    assert data
    assert data["labmates"] == ["user-overcap"]
    assert data["grace"] == {"user-overcap": 300, "overcap": 300}
    assert data["partition_qos"]["debug"] == "partition-debug"
    assert Settings(**{**data, "labmates": tuple(data["labmates"])}).interval == 15


def test_an_arbiter_that_is_switched_off_has_no_settings() -> None:
    cluster = cluster_at(SKYNET)
    assert cluster.preemption.arbiter
    off = cluster.preemption.arbiter.model_copy(update={"enabled": False})
    preemption = cluster.preemption.model_copy(update={"arbiter": off})
    data = settings(dataclasses.replace(cluster, preemption=preemption))
    assert data
    assert (data["labmates"], data["grace"]) == ([], {})


def test_a_cluster_without_preemption_has_no_arbiter() -> None:
    assert settings(cluster_at(SKYNET.parent / "arandu")) is None


def test_the_pace_is_shorter_than_the_shortest_grace_time() -> None:
    assert service.pace(Settings(grace={"overcap": 300}, interval=15)) == 15
    assert service.pace(Settings(grace={"overcap": 10, "user-overcap": 300}, interval=15)) == 5
    assert service.pace(Settings(grace={"overcap": 0}, interval=15)) == 15
    assert service.pace(Settings(grace={"overcap": 1}, interval=15)) == 1
