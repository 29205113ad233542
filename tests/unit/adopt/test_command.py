"""`gpupool adopt`: the page's example is true; exit codes; the copy of the cluster's files is only read."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY

from gpupool.adopt import judged
from gpupool.cli import adopt
from gpupool.cluster.load import load
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.rehearsal.judge import Reading

PAGE = Path(__file__).parents[3] / "docs" / "adopt.md"
STEPS = re.findall(r"```text\n(cgroups: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
EXAMPLE = PAGE.read_text(encoding="utf-8").partition("\n## The inventory")[0]
CONF, PRINTED, NODES = re.findall(r"```(?:text|yaml)\n(.*?)```", EXAMPLE, re.DOTALL)
Run = Callable[..., Any]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's copy of /etc/slurm, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy-of-etc-slurm").mkdir()
    (tmp_path / "copy-of-etc-slurm" / "slurm.conf").write_text(CONF, encoding="utf-8")
    return tmp_path


def test_the_example_of_the_page_is_true(gpupool: Run, site: Path) -> None:
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site")
    assert (done.code, done.err) == (3, "")
    assert done.out == PRINTED
    assert (site / "my-site" / "nodes.yml").read_text() == NODES
    assert [path.name for path in (site / "copy-of-etc-slurm").iterdir()] == ["slurm.conf"]
    assert (site / "copy-of-etc-slurm" / "slurm.conf").read_text() == CONF
    assert gpupool("check", "my-site").code == 0


def test_the_next_steps_and_their_prices_are_those_of_the_page(gpupool: Run, site: Path) -> None:
    gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site")
    before = {path: path.read_text() for path in (site / "my-site").rglob("*") if path.is_file()}
    done = gpupool("adopt", "--steps", "my-site")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(STEPS)
    assert "place: " in done.out
    assert "  first: slurm.state: /var/spool belongs to the operating system\n" in done.out
    assert {path: path.read_text() for path in (site / "my-site").rglob("*") if path.is_file()} == before


def test_a_step_that_would_lose_jobs_says_so(gpupool: Run, site: Path) -> None:
    conf = site / "copy-of-etc-slurm" / "slurm.conf"
    conf.write_text(CONF.replace("SelectTypeParameters=CR_Core_Memory", "SelectType=select/linear"))
    gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site")
    steps = gpupool("adopt", "--steps", "my-site").out
    assert re.search(r"^select: .*\n  \d values change; .*; all jobs must end first$", steps, re.MULTILINE)
    assert steps.count("all jobs must end first") == 1


def test_a_taken_step_leaves_the_list(gpupool: Run, site: Path) -> None:
    gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site")
    slurm = site / "my-site" / "slurm.yml"
    slurm.write_text(
        slurm.read_text().replace("left: [cgroups, ", "left: [").replace("    ProctrackType: proctrack/linuxproc\n", "")
    )
    assert gpupool("check", "my-site").code == 0
    assert gpupool("adopt", "--steps", "my-site").out.startswith("steps: ")


def test_the_steps_of_an_invalid_inventory_are_its_errors(gpupool: Run, site: Path) -> None:
    (site / "bad").mkdir()
    (site / "bad" / "cluster.yml").write_text("schema: 1\n")
    done = gpupool("adopt", "--steps", "bad")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert gpupool("adopt", "--steps", "--files", "x", "bad").code == 2


def test_the_document_has_each_difference_with_its_line_and_cause(gpupool: Run, site: Path) -> None:
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site", "--json")
    found = json.loads(done.out)
    assert (done.code, found["ok"], found["slurmctld"], found["why_not"]) == (3, False, None, None)
    assert found["differences"] == [
        {
            "file": "slurm.conf", "line": 11, "section": "node", "key": "State", "of": "cpu1", "was": "down",
            "would": "unknown", "cause": "state", "group": None,
            "why": "a state is no configuration: slurmctld keeps it",
        }
    ]  # fmt: skip
    assert [one["line"] for one in found["mistakes"]] == [13, 13]


def test_the_proof_names_the_slurmctld_that_has_judged_or_why_none_has(
    gpupool: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {name: {"nodename": name} for name in ("gpu1", "gpu2", "cpu1")}
    shown = Reading("24.11.5", {"killwait": "30 sec"}, {}, nodes, {"all": {"partitionname": "all"}})
    monkeypatch.setattr(judged, "judge", lambda *_: (shown, Reading(refused="no plugin")))
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "one", "--judge")
    assert done.code == 3
    assert "slurmctld does not start with the inventory's files: no plugin" in done.out
    monkeypatch.setattr(judged, "judge", lambda *_: (Reading(refused="no plugin"), shown))
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "two", "--judge")
    assert "slurmctld has not judged\n       slurmctld does not start with the cluster's files: no plugin" in done.out
    (site / "copy-of-etc-slurm" / "slurm.conf").write_text(CONF.replace(" State=DOWN", ""), encoding="utf-8")
    monkeypatch.setattr(judged, "judge", lambda *_: (shown, shown))
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "three", "--judge")
    assert (done.code, "proof  0 differences, by slurmctld 24.11.5: 1 setting, 3 nodes, 1 partition\n" in done.out) == (
        0,
        True,
    )
    with_release = gpupool("adopt", "--files", "copy-of-etc-slurm", "four", "--judge", "--slurm", "23.11", "--json")
    assert json.loads(with_release.out)["slurmctld"] == "24.11.5"


def test_a_second_run_overwrites_nothing(gpupool: Run, site: Path) -> None:
    (site / "my-site").mkdir()
    (site / "my-site" / "mine.yml").write_text("schema: 1\n")
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site")
    assert (done.code, done.err) == (2, "my-site exists and is not empty; name a new folder\n")
    assert [path.name for path in (site / "my-site").iterdir()] == ["mine.yml"]


def test_an_unknown_release_names_the_known_ones(gpupool: Run, site: Path) -> None:
    done = gpupool("adopt", "--files", "copy-of-etc-slurm", "my-site", "--slurm", "17.02")
    assert done.code == 2
    assert "gpupool knows 22.05, 23.02" in done.err
    assert not (site / "my-site").exists()


def test_gpupool_s_own_files_are_adopted_without_a_difference(gpupool: Run, site: Path) -> None:
    cluster = load(INVENTORY / "example")
    own = site / "own"
    own.mkdir()
    for name, text in (("slurm", slurm_conf), ("gres", gres_conf), ("cgroup", cgroup_conf)):
        (own / f"{name}.conf").write_text(text(cluster), encoding="utf-8")
    (own / "job_submit.lua").write_text("function slurm_job_submit() return 0 end\n")
    done = gpupool("adopt", "--files", "own", "again")
    assert re.findall(r"^  slurm\.conf:\d+: ([^:]+)", done.out, re.MULTILINE) == []
    assert adopt.command.__doc__
