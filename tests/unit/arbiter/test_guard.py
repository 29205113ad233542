"""The guard: Slurm's allocations, compared with the limits of the inventory for each job."""

import dataclasses
import json
import socket
import tempfile
from pathlib import Path

import arbitrated
import pytest
from arbitrated import NOW, job, node
from inventories import cluster_at

from gpupool.compile.slurm.arbiter import settings
from gpupool.programs.arbiter import __main__ as service
from gpupool.programs.arbiter import guard, jobs
from gpupool.programs.arbiter.decide import Settings
from gpupool.programs.arbiter.guard import Bounds
from gpupool.programs.arbiter.jobs import Job
from gpupool.slurm import tres

GIB = 1024
BOUNDS = Bounds(per_gpu={"": 44 * GIB}, per_cpu=4 * GIB, nice=22000)
SKYNET = Path(__file__).parents[3] / "inventory" / "skynet"


def holds(text: str, **other: object) -> Job:
    """Return a running job with these allocated TRES."""
    return job("7", **{"partitions": ("long",), "nodes": "n1", "has": tres.read(text), **other})


def reason(text: str, bounds: Bounds = BOUNDS, **other: object) -> str:
    return "; ".join(excess.reason for excess in guard.of_jobs([holds(text, **other)], bounds))


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    "text",
    [
        "cpu=1,mem=508559M,node=1,billing=1",
        "cpu=1,mem=65534M,node=1,billing=1",
        "cpu=1,mem=32G,node=1,billing=1",
        "cpu=11,mem=484G,node=1,billing=11,gres/gpu=1,gres/gpu:a40=1",
        "cpu=1,mem=352G,node=1,billing=1,gres/gpu=1,gres/gpu:titan_x=1",
        "cpu=1,mem=400G,node=1,billing=1,gres/gpu=1,gres/gpu:a40=1",
    ],
)
def test_an_allocation_of_each_attack_on_memory_is_too_large(text: str) -> None:
    """Each is AllocTRES of slurmctld 24.11: --mem-per-cpu=0; MinMemoryNode=65534; --mincpus; enforce-binding; a GPU
    named eight times; MemPerTres=gres/gpu:400K."""
    assert reason(text)
    assert reason(text, states=frozenset({"CONFIGURING"}))
    assert reason(text, states=frozenset({"SUSPENDED"}))


@pytest.mark.parametrize(
    "text",
    [
        "cpu=8,mem=32G,node=1,billing=8",
        "cpu=1,mem=4G,node=1",
        "cpu=7,mem=44G,node=1,gres/gpu=1,gres/gpu:a40=1",
        "cpu=2,mem=352G,node=2,gres/gpu=8,gres/gpu:a40=8",
        "cpu=1,node=1",
    ],
)
def test_a_job_within_its_bounds_is_left_alone(text: str) -> None:
    assert reason(text) == ""


@pytest.mark.parametrize("state", ["PENDING", "COMPLETING", "COMPLETED"])
def test_only_jobs_with_an_allocation_are_compared(state: str) -> None:
    assert reason("cpu=1,mem=400G,node=1", states=frozenset({state})) == ""


def test_root_and_an_admins_permission_lift_the_bounds() -> None:
    assert reason("cpu=1,mem=400G", comment=f"for a demo {guard.ALLOWED}") == ""
    assert reason("cpu=1,mem=400G", user="root") == ""
    assert reason("cpu=1,mem=400G", user_comment=guard.ALLOWED), "users write their own comment"


def test_without_a_bound_for_its_kind_a_job_is_left_alone() -> None:
    assert reason("cpu=1,mem=400G", Bounds(per_gpu={"": 1})) == ""
    assert reason("cpu=1,mem=400G,gres/gpu=1", Bounds(per_cpu=1)) == ""
    assert not Bounds().any


def test_cpus_are_counted_for_each_type_of_gpu() -> None:
    bounds = Bounds(cpus={"a40": 15, "titan_x": 6})
    assert reason("cpu=21,mem=1G,gres/gpu=2,gres/gpu:a40=1,gres/gpu:titan_x=1", bounds) == ""
    message = reason("cpu=22,mem=1G,gres/gpu=2,gres/gpu:a40=1,gres/gpu:titan_x=1", bounds)
    assert message == "it has 22 CPUs with 2 GPUs, at most 21 are allowed"
    assert reason("cpu=64,gres/gpu=1,gres/gpu:h100=1", bounds) == "", "a type without a bound"
    assert reason("cpu=64,gres/gpu=1", bounds) == "", "Slurm does not count types"
    assert reason("cpu=64", bounds) == "", "a job without GPUs"


def test_memory_is_counted_for_each_type_of_gpu() -> None:
    bounds = Bounds(per_gpu={"a40": 40 * GIB, "titan_x": 10 * GIB})
    assert reason("cpu=1,mem=40G,gres/gpu=1,gres/gpu:a40=1", bounds) == ""
    message = reason("cpu=1,mem=40G,gres/gpu=1,gres/gpu:titan_x=1", bounds)
    assert message == "it has 40960M of memory with 1 GPU, at most 10240M per GPU is allowed"
    assert reason("cpu=1,mem=90G,gres/gpu=3,gres/gpu:a40=2,gres/gpu:titan_x=1", bounds) == ""
    message = reason("cpu=1,mem=91G,gres/gpu=3,gres/gpu:a40=2,gres/gpu:titan_x=1", bounds)
    assert message == "it has 93184M of memory with 3 GPUs, at most 30720M per GPU is allowed"
    assert reason("cpu=1,mem=40G,gres/gpu=1", bounds) == "", "Slurm does not count types: it may be an A40"
    assert reason("cpu=1,mem=41G,gres/gpu=1", bounds)
    assert reason("cpu=1,mem=40G,gres/gpu:a40=1", bounds) == "", "not a request of GPUs"


def test_where_cores_are_allocated_all_their_threads_count_as_requested() -> None:
    bounds = Bounds(per_gpu={"": 10 * GIB}, per_cpu=GIB, threads=2)
    assert reason("cpu=8,mem=20G,gres/gpu=1", bounds) == ""
    assert reason("cpu=8,mem=21G,gres/gpu=1", bounds)
    assert reason("cpu=8,mem=9G", bounds), "memory for each CPU is counted on the CPUs that it got"


LAB = Bounds(accounts={"lab": {"gres/gpu": 4}}, parents={"part": "lab"}, lent=("overcap",), since=NOW - 500)


def in_lab(name: str, start: int, **other: object) -> Job:
    return job(name, **{"account": "lab", "partitions": ("short",), "gpus": 2, "start": start, **other})


def test_of_an_account_above_its_limit_the_youngest_jobs_are_held_and_no_more() -> None:
    old, middle, young = in_lab("1", NOW - 400), in_lab("2", NOW - 300), in_lab("3", NOW - 200)
    assert guard.of_accounts([old, middle], LAB) == []
    (excess,) = guard.of_accounts([young, old, middle], LAB)
    assert excess.job == young
    assert excess.reason == "lab has 6 gres/gpu in jobs that are not preemptable, at most 4 are allowed"
    below = in_lab("4", NOW - 100, account="part", gpus=1)
    assert [found.job.name for found in guard.of_accounts([old, middle, below], LAB)] == ["4"]


@pytest.mark.parametrize(
    "other",
    [
        {"partitions": ("overcap",)}, {"qos": "overcap"}, {"user": "root"}, {"comment": guard.ALLOWED},
        {"states": frozenset({"PENDING"})}, {"states": frozenset({"COMPLETING"})}, {"account": "other"},
        {"start": NOW - 501}, {"gpus": 0},
    ],
)  # fmt: skip
def test_an_accounts_limit_leaves_alone(other: dict[str, object]) -> None:
    """Preemptable jobs, jobs that an admin allows, and jobs from before the limit was lowered."""
    some = [in_lab("1", NOW - 600), in_lab("2", NOW - 600), in_lab("3", **{"start": NOW - 200, **other})]  # type: ignore[arg-type]
    assert guard.of_accounts(some, LAB) == []


def test_a_job_with_all_cpus_of_its_nodes_is_charged_for_them() -> None:
    (whole,) = guard.of_jobs([holds("cpu=64,mem=500G,gres/gpu=8", nodes="n1")], BOUNDS)
    (part,) = guard.of_jobs([holds("cpu=64,mem=500G,gres/gpu=8", nodes="n[1-2]")], BOUNDS)
    nodes = [node(8, 8, "n1"), node(8, 8, "n2")]
    assert guard.without_whole([whole, part], nodes) == [part]
    assert guard.without_whole([whole], []) == [whole], "its node is not in Slurm's answer"


def test_a_nice_value_that_overflowed_is_found_and_an_admins_is_not() -> None:
    some = [job(str(nice), nice=nice) for nice in (-2147461651, -1_000_000_000, -10_000, 0, 2_147_483_645)]
    assert [found.nice for found in guard.wrapped(some)] == [-2147461651]
    assert guard.wrapped([job("1", nice=-2147461651, priority=0)]) == [], "a held job precedes no other"


@pytest.mark.parametrize(("comment", "times"), [("", 1), ("[gpupool-guard: run 0, it has much]", 2)])
def test_a_job_is_held_first_and_held_by_an_admin_the_second_time(comment: str, times: int) -> None:
    (excess,) = guard.of_jobs([holds("cpu=1,mem=400G", comment=comment, restarts=1, user_comment="my job")], BOUNDS)
    mark = "[gpupool-guard: run 1, it has 409600M of memory with 1 CPU, at most 4096M per CPU is allowed]"
    assert guard.commands(excess, BOUNDS) == [
        ["scontrol", "update", "JobId=7", f"AdminComment={mark}", f"Comment=my job {mark}"],
        ["scontrol", "requeuehold", "Incomplete", "7"],
        *([["scontrol", "hold", "7"]] if times == 2 else []),
    ]
    assert guard.notification(excess, BOUNDS)[-1].startswith("gpupool: job 7 is held: it has 409600M")


@pytest.mark.parametrize(
    "other", [{"batch": False}, {"requeue": False}, {"bounds": Bounds(per_cpu=1, action="cancel")}]
)
def test_a_job_that_cannot_be_requeued_is_cancelled(other: dict[str, object]) -> None:
    bounds = other.pop("bounds", BOUNDS)
    assert isinstance(bounds, Bounds)
    (excess,) = guard.of_jobs([holds("cpu=1,mem=400G", **other)], bounds)
    assert guard.commands(excess, bounds)[-1] == ["scancel", "7"]
    assert "is cancelled: " in guard.notification(excess, bounds)[-1]


class Service:
    """The service with a recorded queue in which a job exceeds its limit; `done` are the commands that change it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, nodes: str | None = None) -> None:
        self.done: list[str] = []
        self.status: list[str] = []
        folder = Path(__file__).parent / "24.11"
        self.nodes = (folder / "nodes.txt").read_text() if nodes is None else nodes
        self.seen = [holds("cpu=1,mem=400G", nodes="clippy", states=frozenset({"RUNNING"})), job("8")]
        monkeypatch.setattr(service, "ask", self.ask)
        monkeypatch.setattr(service, "status", self.status.append)
        monkeypatch.setattr(jobs, "read", lambda text, mark: jobs.Seen(list(self.seen), []))

    def ask(self, command: list[str]) -> str:
        if command[:2] == ["scontrol", "ping"]:
            return f"Slurmctld(primary) at {socket.gethostname()} is UP"
        if command == ["scontrol", "show", "nodes"]:
            if not self.nodes:
                raise jobs.UnsureError("scontrol show: no answer within 30 s")
            return self.nodes
        if command[0] != "squeue":
            self.done.append(" ".join(command).partition(" AdminComment")[0])
        return ""


def test_a_cycle_holds_the_job_and_writes_a_status_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Service(monkeypatch)
    arbiter = service.Arbiter(Settings(bounds=BOUNDS))
    arbiter.cycle()
    text = "it has 409600M of memory with 1 CPU, at most 4096M per CPU is allowed"
    assert machine.done == [
        f"scontrol notify 7 gpupool: job 7 is held: {text}",
        "scontrol update JobId=7",
        "scontrol requeuehold Incomplete 7",
    ]
    held = arbitrated.waits("7", priority=0, comment=f"[gpupool-guard: run 0, {text}]")
    machine.seen = [held, job("8")]
    arbiter.cycle()
    arbiter.cycle()
    machine.seen = [job("8")]
    arbiter.cycle()
    line = "jobs held for their allocation: 7 of u2"
    assert machine.status == ["well", f"unwell: {line}", f"unwell: {line}", "well"]
    assert capsys.readouterr().out.splitlines() == [
        f"job 7 of u1 in long may not run on: {text}",
        line,
        "all is well again",
    ]


@pytest.mark.parametrize("broken", ["nodes", "a bug"])
def test_if_the_guard_fails_jobs_keep_running_and_the_status_reports_it(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Service(monkeypatch, nodes="" if broken == "nodes" else None)
    if broken == "a bug":
        monkeypatch.setattr(guard, "of_jobs", lambda *_: 1 / 0)
    assert service.Arbiter(Settings(bounds=BOUNDS)).cycle()
    assert machine.done == []
    (line,) = machine.status
    assert line.startswith("unwell: the guard does nothing: ")


def test_slurmctld_is_asked_for_nodes_once_in_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard needs the nodes of a job above its limit, and preemption those for a job that waits."""
    machine = Service(monkeypatch)
    limits = (Path(__file__).parent / "24.11" / "limits.txt").read_text()
    asked: list[list[str]] = []

    def ask(command: list[str]) -> str:
        asked.append(command)
        return limits if "assoc_mgr" in command else machine.ask(command)

    monkeypatch.setattr(service, "ask", ask)
    borrows = job("8", account="cvmlp-lab", gpus=5)
    machine.seen += [borrows, arbitrated.waits("9", account="cvmlp-lab")]
    service.Arbiter(dataclasses.replace(arbitrated.RULES, bounds=BOUNDS)).cycle()
    assert asked.count(["scontrol", "show", "nodes"]) == 1
    assert any("assoc_mgr" in command for command in asked)


def test_an_overflowed_nice_value_is_replaced_by_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Service(monkeypatch)
    machine.seen = [arbitrated.waits("9", nice=-2147461651)]
    service.Arbiter(Settings(bounds=BOUNDS)).cycle()
    assert machine.done == ["scontrol update JobId=9 Nice=22000"]


def test_skynets_guard_has_the_bounds_of_its_inventory_and_runs_every_ten_seconds() -> None:
    data = settings(cluster_at(SKYNET))
    assert data
    assert json.loads(json.dumps(data["bounds"])) == {
        "per_gpu": {"": 45056}, "per_cpu": 4096, "threads": 1, "nice": 22000, "action": "hold",
        "lent": ["user-overcap", "overcap"], "accounts": data["bounds"]["accounts"],
    }  # fmt: skip
    assert data["bounds"]["accounts"]["cvmlp-lab"]["gres/gpu"] == 64
    assert "overcap" not in data["bounds"]["accounts"]
    assert service.pace(Settings(grace={"overcap": 300}, bounds=Bounds(**data["bounds"]))) == 10


def test_a_status_reaches_systemd_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # The path of a socket has a limit of 107 bytes, and tmp_path can be longer.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        path = f"{folder}/notify"
        heard.bind(path)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        service.status("unwell: a\nREADY=0\x00b")
        assert heard.recv(5000) == b"STATUS=unwell: a READY=0\x00b\nWATCHDOG=1"
    service.status("systemd has gone")
    monkeypatch.delenv("NOTIFY_SOCKET")
    service.status("no systemd")
