"""A saved plan: `apply` makes exactly its changes, or refuses and names what changed since it was made."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from changing import change_of
from inventories import SMALL

from gpupool import __version__
from gpupool.change import Change
from gpupool.effect import Effect
from gpupool.engine.report import HostReport, NodeHost, Report
from gpupool.reasons import Code, Reason
from gpupool.run import runner as module

LINK = change_of("Links | /srv")
HOSTS = change_of("Files | /etc/hosts", "-old\n+token=hunter22\n", Effect("restart munge", ("7 of u-kira1",)))
HELD = Reason(Code.HELD)


class Nodes:
    """Stands in for the engine: nodes with pending changes, which an agreed apply makes."""

    def __init__(self) -> None:
        self.pending: dict[str, tuple[Change, ...]] = {"ctl": (), "gpu-1": (HOSTS, LINK), "gpu-2": ()}
        self.unreachable: set[str] = set()
        self.asleep: tuple[str, ...] = ()
        self.made: dict[str, tuple[Change, ...]] = {}

    def run(
        self, hosts: Sequence[NodeHost], *_: object, execute: bool, limit: Collection[str] | None, **options: Any
    ) -> Report:
        names = [host.name for host in hosts if limit is None or host.name in limit]
        seen = {name: self.pending[name] for name in names if name not in self.unreachable}
        lost = HostReport(False, "cannot be reached", (), 0, 0.0, reason=Reason(Code.UNREACHABLE))
        agree = options.get("agree")
        if agree and names:
            differences: Mapping[str, str] = agree(seen)
            if differences or self.unreachable:
                held = {
                    name: HostReport(False, differences.get(name, "held"), (), 0, 0.0, reason=HELD) for name in names
                }
                return Report({**held, **dict.fromkeys(self.unreachable & {*names}, lost)}, 0.0)
        if execute:
            self.made = {name: changes for name, changes in seen.items() if changes}
        good = {name: HostReport(True, None, changes, 1, 0.0) for name, changes in seen.items()}
        return Report({name: good.get(name, lost) for name in names}, 0.0)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nodes:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUPOOL_INVENTORY", raising=False)
    made = Nodes()
    monkeypatch.setitem(sys.modules, "gpupool.engine.drive", SimpleNamespace(run=made.run))
    monkeypatch.setattr(module, "powered_down", lambda _, names=None: made.asleep)
    return made


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "site"))


@pytest.fixture
def plan(gpupool: Callable[..., Any], nodes: Nodes, site: Path, tmp_path: Path) -> Path:
    """Return the file of a saved plan: two changes of gpu-1."""
    file = tmp_path / "plan.json"
    done = gpupool("plan", site, "--out", file)
    assert done.code == 3, done.err
    assert done.err.splitlines()[-1] == f"saved: `gpupool apply {site} {file}` makes exactly these changes"
    return file


def test_apply_makes_the_changes_of_the_plan_without_asking(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path
) -> None:
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (0, {"gpu-1": (HOSTS, LINK)})
    assert "3 of 3 nodes match the inventory; 2 changes" in done.out


def test_the_file_is_private_and_has_no_text_of_a_change(plan: Path) -> None:
    assert plan.stat().st_mode & 0o777 == 0o600
    data = json.loads(plan.read_text())
    assert (data["format"], data["format_version"], data["version"]) == ("gpupool-plan", 1, __version__)
    assert [each["operation"] for each in data["nodes"]["gpu-1"]] == ["Files | /etc/hosts", "Links | /srv"]
    assert "hunter22" not in plan.read_text()


def test_the_current_folder_is_the_inventory_of_a_plan(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = gpupool("apply", plan)
    assert done.code == 2
    assert "name its inventory first" in done.err
    monkeypatch.setenv("GPUPOOL_INVENTORY", str(site))
    assert gpupool("apply", plan).code == 0
    monkeypatch.delenv("GPUPOOL_INVENTORY")
    monkeypatch.chdir(site)
    assert gpupool("apply", plan).code == 0


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ((LINK,), "gpu-1: Files | /etc/hosts is no longer to be made"),
        ((HOSTS, LINK, change_of("Units | start ssh")), "gpu-1: Units | start ssh is not in the plan"),
        ((change_of("Files | /etc/hosts", "+other\n", HOSTS.effect), LINK), "gpu-1: Files | /etc/hosts is another"),
        ((replace(HOSTS, effect=Effect("restart slurmd")), LINK), "gpu-1: Files | /etc/hosts is another change than"),
        ((HOSTS, LINK, LINK), "gpu-1: Links | /srv is not in the plan"),
    ],
)
def test_other_changes_of_a_node_are_refused_and_named(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path, now: tuple[Change, ...], message: str
) -> None:
    nodes.pending["gpu-1"] = now
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (1, {})
    assert "nothing was changed" in done.err
    assert f"  {message}" in done.err


def test_jobs_that_come_and_go_are_no_difference(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path
) -> None:
    nodes.pending["gpu-1"] = replace(HOSTS, effect=Effect("restart munge", ("9 of u-kira1",))), LINK
    assert gpupool("apply", site, plan).code == 0


def test_every_changed_file_of_the_inventory_is_named(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path
) -> None:
    first = sorted(site.glob("*.yml"))[0]
    first.write_text(first.read_text() + "# a comment\n")
    (site / "more.yml").write_text("# nothing yet\n")
    (site / "wiki").mkdir()
    (site / "wiki" / "page.html").write_text("hello")
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (1, {})
    assert f"  {first.name}: was changed" in done.err
    assert "  more.yml: was added to the inventory" in done.err
    assert "  wiki/page.html: was added to the inventory" in done.err


def test_another_version_and_another_target_are_refused(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path
) -> None:
    data = json.loads(plan.read_text())
    plan.write_text(json.dumps({**data, "version": "0.0.9", "target": "the testbed t1"}))
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (1, {})
    assert f"  gpupool: the plan is of version 0.0.9, this is {__version__}" in done.err
    assert "  target: the plan is for the testbed t1 of " in done.err


def test_a_node_that_sleeps_or_fails_holds_the_others(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path
) -> None:
    nodes.asleep = ("gpu-1",)
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (1, {})
    assert "gpu-1: is powered down or out of service, and has 2 changes in the plan" in done.err
    nodes.asleep, nodes.unreachable = (), {"gpu-1"}
    done = gpupool("apply", site, plan)
    assert (done.code, nodes.made) == (1, {})
    assert "gpu-1: cannot be reached" in done.out


def test_a_plan_with_a_limit_leaves_other_nodes_alone(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, tmp_path: Path
) -> None:
    nodes.pending["ctl"] = (LINK,)
    file = tmp_path / "some.json"
    assert gpupool("plan", site, "--limit", "gpu-1", "--out", file).code == 3
    assert gpupool("apply", site, file, "--limit", "ctl").code == 2
    assert gpupool("apply", site, file).code == 0
    assert [*nodes.made] == ["gpu-1"]


def test_a_plan_with_a_failure_is_not_saved(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, tmp_path: Path
) -> None:
    nodes.unreachable = {"gpu-2"}
    done = gpupool("plan", site, "--out", tmp_path / "plan.json")
    assert done.code == 1
    assert "not saved, because gpu-2 failed: correct that, or use --limit" in done.err
    assert not (tmp_path / "plan.json").exists()


def test_only_a_saved_plan_is_replaced(gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path) -> None:
    assert gpupool("plan", site, "--out", plan).code == 3
    mine = sorted(site.glob("*.yml"))[0]
    before = mine.read_text()
    done = gpupool("plan", site, "--out", mine)
    assert (done.code, mine.read_text()) == (2, before)
    assert "exists and is no saved plan" in done.err
    assert gpupool("plan", site, "--out", site / "no" / "plan.json").code == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"format": "gpupool-plan"}',
        '{"format": "gpupool-plan", "format_version": 1}',
        "\0",
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "damaged"
    file.write_text(text)
    done = gpupool("apply", site, file)
    assert (done.code, nodes.made, done.err.count("\n")) == (2, {}, 1)
    assert str(file) in done.err


def test_a_pipe_or_a_missing_file_is_refused(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "none"):
        assert gpupool("apply", site, tmp_path / name).code == 2


@pytest.mark.parametrize(
    "forged",
    [
        {"gpu-1": [], "ctl": [], "gpu-2": []},
        {"gpu-1": [{"operation": "rm -rf /\n  ctl: all is well", "effect": "nothing", "sha256": "0"}]},
        {"no-such-node": []},
        {},
        {"gpu-1": [{"operation": 1, "effect": "nothing", "sha256": "0"}]},
        {"gpu-1": "Files"},
        ["gpu-1"],
    ],
    ids=["no change", "another change", "another node", "no node", "a number", "a text", "a list"],
)
def test_a_forged_plan_changes_nothing(
    gpupool: Callable[..., Any], nodes: Nodes, site: Path, plan: Path, forged: object
) -> None:
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "nodes": forged}))
    done = gpupool("apply", site, plan)
    assert nodes.made == {}
    assert done.code in ((0,) if forged == {} else (1, 2))
    assert "\n  ctl: all is well" not in done.err
