"""The health check drains and resumes a node: only with a reason of this program, and only its own drains."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import INVENTORY, STORED, changed, cluster_at
from shipped import ship

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.system import health
from gpupool.compile.system.packages import packages_for
from gpupool.compile.template import fill
from gpupool.programs.health import __main__ as program
from gpupool.programs.health import node
from gpupool.programs.health.node import Step
from gpupool.slurm.nodes import NodeState

OURS = "gpupool: health: /data is not mounted"
# the output of scontrol of 24.11
SHOWN = """NodeName=gpu-1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.10
   State={state} ThreadsPerCore=1 TMP_DISK=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=all
   BootTime=2026-11-01T10:00:00 SlurmdStartTime=2026-11-01T10:00:10
{reason}"""


def shown(state: str, reason: str = "", by: str = "root") -> str:
    line = f"   Reason={reason} [{by}@2026-11-02T10:00:00]\n" if reason else ""
    return SHOWN.format(state=state, reason=line)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (shown("IDLE"), NodeState(frozenset({"IDLE"}))),
        (shown("MIXED+DRAIN", OURS), NodeState(frozenset({"MIXED", "DRAIN"}), OURS, "root")),
        (
            shown("IDLE*+DRAIN", "a [b] c", "ann"),
            NodeState(frozenset({"IDLE", "DRAIN", "NOT_RESPONDING"}), "a [b] c", "ann"),
        ),
        (
            shown("DOWN*+DRAIN", "Not responding", "slurm"),
            NodeState(frozenset({"DOWN", "DRAIN", "NOT_RESPONDING"}), "Not responding", "slurm"),
        ),
    ],
)
def test_the_output_of_scontrol_is_read(text: str, known: NodeState) -> None:
    read = node.read(text)
    assert (read.flags, read.reason, read.by) == (known.flags, known.reason, known.by)


def test_without_a_state_there_is_no_answer() -> None:
    with pytest.raises(node.NoAnswerError):
        node.read("Node gpu-1 not found\n")


WRONG = ["/data is not mounted"]


@pytest.mark.parametrize(
    ("state", "reason", "by", "wrong", "step"),
    [
        ("IDLE", "", "", [], None),
        ("IDLE", "", "", WRONG, Step("drain", OURS)),
        ("MIXED", "", "", WRONG, Step("drain", OURS)),
        ("MIXED DRAIN", OURS, "root", WRONG, None),
        ("MIXED DRAIN", OURS, "root", [*WRONG, "b"], Step("drain", f"{OURS}; b")),
        ("IDLE DRAIN", OURS, "root", [], Step("resume")),
        # an admin's, or by another part of gpupool
        ("IDLE DRAIN", "disk is replaced", "root", [], None),
        ("IDLE DRAIN", "disk is replaced", "root", WRONG, None),
        ("IDLE DRAIN", "gpupool: maintenance", "root", [], None),
        ("IDLE DRAIN", OURS, "ann", [], None),
        # resumed by hand, with the old reason
        ("IDLE", OURS, "root", [], None),
        ("DOWN", "Not responding", "slurm", WRONG, None),
        ("DOWN DRAIN", OURS, "root", [], None),
    ],
)
def test_each_state_has_its_next_step(state: str, reason: str, by: str, wrong: list[str], step: Step | None) -> None:
    assert node.next_step(NodeState(frozenset(state.split()), reason, by), wrong) == step


def test_a_reason_is_one_short_line() -> None:
    step = node.next_step(NodeState(frozenset({"IDLE"})), ["a\nb [c]", "x" * 1000])
    assert step
    assert step.reason.startswith("gpupool: health: a?b ?c?; xxx")
    assert len(step.reason) == 500
    known = node.read(shown("IDLE+DRAIN", step.reason))
    assert known.reason == step.reason, "so the next look knows it again"


# the program


class Slurm:
    """A fake scontrol with one node, which records its commands."""

    def __init__(self, folder: Path) -> None:
        self.node, self.log = folder / "node", folder / "log"
        self.node.write_text(shown("IDLE"))
        (folder / "bin").mkdir()
        (folder / "bin" / "scontrol").write_text(
            f'#!/bin/sh\necho "$@" >> {self.log}\n[ "$1" != show ] || cat {self.node}\n'
        )
        (folder / "bin" / "scontrol").chmod(0o755)

    def asked(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    one = Slurm(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(program, "STATE", tmp_path / "state")
    monkeypatch.setattr(sys, "argv", ["health", str(tmp_path / "settings.json")])
    return one


def run(slurm: Slurm, *missing: str) -> list[str]:
    settings = {"node": "gpu-1", "mounts": list(missing)}
    slurm.node.with_name("settings.json").write_text(json.dumps(settings))
    program.main()
    return slurm.asked()


def test_scontrol_is_called_only_after_a_change(slurm: Slurm) -> None:
    assert run(slurm) == ["show node gpu-1"], "after a boot it may be drained from before"
    assert run(slurm) == []
    reason = "gpupool: health: /none is not mounted"
    assert run(slurm, "/none") == ["show node gpu-1", f"update nodename=gpu-1 state=drain reason={reason}"]
    slurm.node.write_text(shown("IDLE+DRAIN", reason))
    assert run(slurm, "/none") == ["show node gpu-1"]
    assert run(slurm) == ["show node gpu-1", "update nodename=gpu-1 state=resume"]
    slurm.node.write_text(shown("IDLE"))
    assert run(slurm) == []


def test_an_admins_drain_is_kept(slurm: Slurm) -> None:
    slurm.node.write_text(shown("IDLE+DRAIN", "disk is replaced"))
    for missing in (["/none"], []):
        assert run(slurm, *missing) == ["show node gpu-1"]
    assert run(slurm) == []


def test_without_a_controller_the_next_check_asks_again(slurm: Slurm) -> None:
    (slurm.node.parent / "bin" / "scontrol").write_text("#!/bin/sh\necho no contact >&2; exit 1\n")
    with pytest.raises(node.NoAnswerError, match="no contact"):
        run(slurm)
    assert not (program.STATE / "fine").exists()


def test_a_check_that_takes_long_is_not_started_twice(slurm: Slurm) -> None:
    program.STATE.mkdir()
    with (program.STATE / "running").open("w") as earlier:
        fcntl.flock(earlier, fcntl.LOCK_EX)
        assert run(slurm, "/none") == []
    assert run(slurm, "/none")


def test_the_program_exits_0_as_slurmd_runs_it(tmp_path: Path, slurm: Slurm) -> None:
    """The check exits 0 when Slurm does not answer: slurmd would wait for it at its start."""
    (slurm.node.parent / "bin" / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    home = tmp_path / "lib"
    ship("health", home)
    main = home / "health" / "__main__.py"
    main.write_text(main.read_text().replace(str(Path("/run/gpupool/health")), str(tmp_path / "state")))
    settings = tmp_path / "settings.json"
    settings.write_text('{"node": "gpu-1"}')
    wrapper = tmp_path / "program"
    wrapper.write_text(
        fill("health", home=home, settings=settings)
        .replace("PATH=/usr", f"PATH={tmp_path}/bin:/usr")
        .replace("/usr/bin/python3", sys.executable)
    )
    wrapper.chmod(0o755)
    done = subprocess.run([str(wrapper)], capture_output=True, text=True, check=False, env={})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert slurm.asked() == []
    assert (tmp_path / "state" / "running").exists()


# files on nodes


def test_a_node_checks_itself_only_if_the_inventory_requests_it(stored: Cluster) -> None:
    assert "HealthCheck" not in slurm_conf(stored)
    assert files_of(stored, stored.nodes["gpu-1"], "health") == []


def test_the_settings_list_the_checks_of_a_node(tmp_path: Path) -> None:
    new = "slurm: {health: {interval: 2m, disk_free: 2G}}\nscheduler:"
    cluster = changed(STORED, tmp_path / "on", ("scheduler:", new))
    one = cluster.nodes["gpu-1"]
    assert [line for line in slurm_conf(cluster).splitlines() if line.startswith("HealthCheck")] == [
        f"HealthCheckProgram={health.PROGRAM}",
        "HealthCheckInterval=120",
        "HealthCheckNodeState=ANY",
    ]
    settings = health.settings(cluster, one)
    assert settings["gpus"]["count"] == one.gpu_count
    assert settings["mounts"] == [mount.at for mount in cluster.mounts if one.name in mount.clients]
    assert settings["disk"] == {"paths": ["/", "/var/spool/slurmd", "/tmp"], "mib": 2048}
    assert settings["clock"] is True
    assert {health.PROGRAM, health.SETTINGS} < {file.path for file in files_of(cluster, one, "health")}
    assert "python3" in packages_for(cluster, one)
    off = changed(STORED, tmp_path / "off", ("scheduler:", new.replace("interval", "enabled: false, interval")))
    assert "HealthCheck" not in slurm_conf(off)


def test_every_compute_node_of_the_example_checks_itself() -> None:
    cluster = cluster_at(INVENTORY / "example")
    for one in cluster.having("compute"):
        assert health.PROGRAM in {file.path for file in files_of(cluster, one, "health")}
