"""The site deploy on empty nodes: the steps of each node, their order, and which nodes fail together."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import empty_nodes
import pytest
from first_apply import TARGETS, kept, steps
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import Host, State
from pyinfra.api.exceptions import ConnectError
from pyinfra.api.facts import get_fact

from gpupool.engine.drive import Report, run
from gpupool.operations import munge, slurm
from gpupool.roles import gpu, storage, where
from gpupool.run.runner import SITE
from gpupool.target import Target
from gpupool.wanted import File

STAGES = [
    *["No job would end", "Servers are ready", "The munge key is made", "The configuration is tried"],
    *["Accounts are known", "The controller runs"],
]

FROM_ZERO = kept("testbed")


class Ran:
    """A progress that records the order of operations, with their nodes."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []

    def stage(self, name: str, total: int) -> None:
        self.steps.clear()

    def step(self, host: str, what: str) -> None:
        self.steps.append((host, what))

    def advance(self, steps: int = 1) -> None: ...
    def failed(self, host: str, why: str) -> None: ...
    def output(self, host: str, lines: Sequence[str]) -> None: ...
    def note(self, text: str) -> None: ...
    def tick(self) -> None: ...


def apply(target: Target, ran: Ran | None = None) -> Report:
    return run(target.hosts, SITE, execute=True, refusals_first=True, origin=ORIGIN, progress=ran)


def done(report: Report, node: str) -> list[str]:
    return steps(report)[node]


@pytest.mark.parametrize("execute", [False, True], ids=["plan", "apply"])
@pytest.mark.parametrize("where", TARGETS)
def test_every_role_works_from_zero(where: str, execute: bool) -> None:
    report = run(TARGETS[where].hosts, SITE, execute=execute, origin=ORIGIN)
    assert not report.failures
    assert steps(report) == kept(where), "if that is meant: script/docs"


def test_a_plan_sends_nodes_no_changes() -> None:
    assert run(empty_nodes.testbed("example").hosts, SITE, execute=False, origin=None).changed
    assert not any(received.commands for received in empty_nodes.RECEIVED.values())


@pytest.mark.parametrize("where", TARGETS)
def test_a_plan_sends_each_node_a_handful_of_commands(where: str) -> None:
    """One for first facts, one for the trial of files, and more only for facts that depend on the answers."""
    report = run(TARGETS[where].hosts, SITE, execute=False, origin=None)
    assert {name: host.commands for name, host in report.hosts.items() if host.commands > 5} == {}


def test_machines_get_the_time_and_no_fake_devices() -> None:
    for name, real in kept("machines").items():
        assert "Time" in real
        assert not {"GPU devices", "Stand-in disks"} & set(real), name


def test_each_stage_is_complete_on_all_nodes_before_the_next() -> None:
    ran = Ran()
    assert apply(empty_nodes.testbed("example"), ran).ok
    assert stages_in_order(ran.steps, FROM_ZERO) == STAGES


def test_stages_are_complete_on_machines_too() -> None:
    target, ran = empty_nodes.machines(), Ran()
    assert apply(target, ran).ok
    assert stages_in_order(ran.steps, [node.name for node in target.nodes]) == STAGES


def test_plain_pyinfra_keeps_the_same_order() -> None:
    """Its command line asks pyinfra for the order of operations; ours are there with the same barriers between them."""
    plan = plain_pyinfra()
    order = [entry["names"][0] for entry in plan]
    for stage, after, before in zip(STAGES, [*STAGES[1:], None], [None, *STAGES[:-1]], strict=True):
        assert order.count(stage) == 1
        assert after is None or order.index(stage) < order.index(after)
        assert before is None or order.index(stage) > order.index(before)
    ran = Ran()
    assert apply(empty_nodes.testbed("example"), ran).ok
    ours = list(dict.fromkeys(what for _, what in ran.steps))
    assert list(dict.fromkeys(order)) == ours
    changing = {name: [] for name in FROM_ZERO}  # type: dict[str, list[str]]
    for entry in plan:
        for name in entry["hosts_with_change"]:
            changing[name].append(entry["names"][0])
        assert not entry["hosts_with_conditional_change"]
    assert changing == FROM_ZERO


def test_a_role_that_raises_stops_its_own_nodes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such card")

    monkeypatch.setattr(gpu, "apply", where(gpu.applies)(broken))
    report = apply(empty_nodes.testbed("example"))
    assert set(report.failures) == {"a40-01", "rtx-01"}
    assert all("no such card" in why for why in report.failures.values())
    assert not set(report.failures) & set(empty_nodes.RECEIVED), "it was sent half of the work"
    for name in ("login1", "control", "files"):
        assert done(report, name) == FROM_ZERO[name]


def test_a_node_with_another_system_is_refused_and_no_node_gets_a_command() -> None:
    empty_nodes.SYSTEM["rtx-01"] = ["ubuntu", "noble", "Ubuntu 24.04.3 LTS"]
    why = "System: the node runs Ubuntu 24.04.3 LTS, but the inventory says Debian trixie"
    target = empty_nodes.testbed("example")
    plan = run(target.hosts, SITE, execute=False, origin=None)
    assert plan.failures["rtx-01"].startswith(why)
    assert set(plan.failures) == {"rtx-01"}
    report = apply(target)
    assert report.failures["rtx-01"] == plan.failures["rtx-01"]
    assert set(report.failures) == set(report.hosts)
    assert not any(received.commands for received in empty_nodes.RECEIVED.values())


def test_a_command_that_fails_stops_its_node_only() -> None:
    empty_nodes.BROKEN["rtx-01"] = "apt-get"
    report = apply(empty_nodes.testbed("example"))
    assert report.failures == {"rtx-01": "Packages: it is broken"}
    assert done(report, "rtx-01") == ["Names", "Host name"]
    for name in ("login1", "control", "files", "a40-01"):
        assert done(report, name) == FROM_ZERO[name]


_DOCKER = {"Docker packages", "Docker", "Docker daemon", "Docker purge timer"}
_SINGULARITY = {"Singularity packages", "Singularity settings", "Numbers for building images"}


@pytest.mark.parametrize(
    ("target", "node", "broken", "failure", "lost"),
    [
        ("skynet", "clippy", "get docker-cli", "Docker packages", _DOCKER),
        ("aau-ai-cloud", "nv-ai-01", "get apptainer", "Singularity packages", _SINGULARITY),
    ],
)
def test_a_vendor_that_does_not_answer_stops_its_own_part_only(
    target: str, node: str, broken: str, failure: str, lost: set[str]
) -> None:
    whole = done(apply(empty_nodes.testbed(target)), node)
    empty_nodes.RECEIVED.clear()
    empty_nodes.BROKEN[node] = broken
    report = apply(empty_nodes.testbed(target))
    assert report.failures == {node: f"{failure}: it is broken"}
    assert [step for step in whole if step not in done(report, node)] == [step for step in whole if step in lost]
    assert "Slurm node daemon" in done(report, node)


def test_without_the_controller_others_report_its_missing_key() -> None:
    empty_nodes.BROKEN["control"] = "apt-get"
    report = apply(empty_nodes.testbed("example"))
    why = "Munge key: there is no munge key here, and control, which has it, has failed in this run"
    assert report.failures == {
        "control": "Packages: it is broken",
        **dict.fromkeys(["login1", "a40-01", "rtx-01"], why),
    }
    assert done(report, "files") == FROM_ZERO["files"]


def test_a_source_without_a_key_is_read_again_by_the_next_node() -> None:
    """Without the stages of our own deploy: a node that asks too early fails alone."""

    def deploy() -> None:
        for node in ("login1", "control", "rtx-01"):
            if host.name == node:
                munge.key(name="Munge key", source=None if node == "control" else "control")

    report = run(empty_nodes.testbed("example").hosts, deploy, execute=True, origin=ORIGIN)
    why = "Munge key: there is no munge key here, and control, which has it, has no munge key"
    assert report.failures == {"login1": why}
    assert (done(report, "control"), done(report, "rtx-01")) == (["Munge key"], ["Munge key"])


def test_a_source_is_read_for_its_munge_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by every node of the cluster: nodes take turns."""
    asked: list[str] = []

    def counted(state: State, node: Host, *arguments: Any, **named: Any) -> Any:
        asked.append(node.name)
        return get_fact(state, node, *arguments, **named)

    def deploy() -> None:
        munge.key(name="Munge key", source=None if host.name == "control" else "control")

    monkeypatch.setattr("gpupool.operations.munge.get_fact", counted)
    empty_nodes.RECEIVED["control"] = empty_nodes.Received(has_key=True)
    report = run(empty_nodes.testbed("example").hosts, deploy, execute=True, origin=ORIGIN)
    assert (report.failures, asked) == ({}, ["control"])


def test_a_failed_fileserver_does_not_stop_the_next_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no disks")

    monkeypatch.setattr(storage, "serve", where(storage.serves)(broken))
    ran = Ran()
    report = apply(empty_nodes.testbed("example"), ran)
    assert list(report.failures) == ["files"]
    assert stages_in_order(ran.steps, [name for name in FROM_ZERO if name != "files"]) == STAGES


def test_a_file_that_the_first_controller_refuses_reaches_no_other_node() -> None:
    """marvin refuses the new files in their test; vicki, its backup, keeps its files; compute nodes continue."""
    empty_nodes.BROKEN["marvin"] = "gpupool-trial"
    report = apply(empty_nodes.testbed("skynet"))
    why = "Configuration tried: /etc/slurm/slurm.conf is not changed: marvin, which tests the new one"
    assert report.failures == {
        "marvin": "Slurm configuration: it is broken",
        "vicki": f"{why}, has failed in this run",
    }
    assert not any(
        path.startswith("/etc/slurm/") and path.endswith(".conf") for path, *_ in empty_nodes.staged("vicki")
    )
    assert "Slurm node daemon" in done(report, "clippy")


@pytest.mark.parametrize("there", ["new", "old"])
def test_a_node_that_has_the_files_is_not_affected_by_a_failed_first_controller(
    there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/etc/slurm/slurm.conf"
    lines = [f"P\tf\t644\troot\troot\t\t{path}", f"S\t{hashlib.sha256(there.encode()).hexdigest()}\t{path}"]

    def answer(raw: str, received: empty_nodes.Received) -> list[str]:
        return lines if path in raw and received is empty_nodes.RECEIVED["login1"] else []

    def deploy() -> None:
        if host.name == "control":
            munge.key(name="Munge key")
        if host.name == "login1":
            slurm.require_accepted_by(name="Configuration tried", first="control", files=[File(path, "new")])

    monkeypatch.setattr(empty_nodes, "_answer", answer)
    empty_nodes.BROKEN["control"] = "mungekey"
    failures = run(empty_nodes.testbed("example").hosts, deploy, execute=True, origin=ORIGIN).failures
    assert failures.pop("control")
    why = f"Configuration tried: {path} is not changed: control, which tests the new one, has failed in this run"
    assert failures == ({} if there == "new" else {"login1": why})


def test_a_change_that_would_end_jobs_is_refused_before_any_node_changes() -> None:
    """A node that is removed while it has jobs also stays in /etc/hosts of all nodes."""
    empty_nodes.QUEUE["marvin"] = [
        "answers",
        "N|NodeName=gone-01 CPUTot=8",
        "J|7|RUNNING|u-kira1|kira-lab|normal|short|gone-01|",
    ]
    report = apply(empty_nodes.testbed("skynet"))
    failures = report.failures
    why = failures.pop("marvin")
    assert why.startswith("Running jobs: Slurm would end 1 job: node gone-01 will be removed: 7 of u-kira1 is running")
    others = [name for name in report.hosts if name != "marvin"]
    assert failures == dict.fromkeys(
        others, "not changed, because apply would refuse a change of marvin (correct that first)"
    )
    assert not any(received.commands for received in empty_nodes.RECEIVED.values())
    assert not any(host.changes for host in report.hosts.values())


def test_an_unreachable_first_controller_delays_no_other_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(self: empty_nodes.EmptyNode) -> None:
        if self.host.name == "marvin":
            raise ConnectError("no answer")

    monkeypatch.setattr(empty_nodes.EmptyNode, "connect", away)
    report = apply(empty_nodes.testbed("skynet"))
    assert "cannot be reached" in report.failures["marvin"]
    assert "slurm.conf" not in report.failures["vicki"]


def stages_in_order(steps: Iterable[tuple[str, str]], nodes: Iterable[str]) -> list[str]:
    """Fail if a node did an operation of a later stage before another node had passed the barrier between."""
    at = dict.fromkeys(nodes, 0)
    met: list[str] = []
    for name, what in steps:
        if what in STAGES:
            at[name] += 1
            met += [what] if what not in met else []
        else:
            late = [other for other, number in at.items() if number < at[name]]
            assert not late, f"{name} did {what!r} while {', '.join(late)} had not come through {met[-1]!r}"
    assert set(at.values()) == {len(STAGES)}
    return met


def plain_pyinfra() -> list[dict[str, list[str]]]:
    """Run `pyinfra INVENTORY deploys/site.py --dry` as a person would, and return its plan."""
    here = Path(__file__).parent
    program = Path(sys.executable).with_name("pyinfra")
    ran = subprocess.run(
        [program, here / "empty_inventory.py", SITE.resolve(), "--dry", "--json"],
        cwd=here.parents[1],
        env={**os.environ, "PYINFRA_PROGRESS": "off", "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    plan: list[dict[str, list[str]]] = json.loads(ran.stdout)["plan"]
    return plan
