"""Limits on shared machines: shares on heads, open files, the reaper's settings, no reboot while jobs run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import INVENTORY, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for, files_of
from gpupool.compile.system import reaper, reboot, sessions
from gpupool.compile.system.devices import ROOT_SLICE, USER_SLICE
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.spaces import homes_for
from gpupool.programs.reaper.__main__ import main


def files(cluster: Cluster, node: str, role: str) -> dict[str, str]:
    return {file.path: file.text for file in files_of(cluster, cluster.nodes[node], role)}


@pytest.fixture(scope="module")
def aau() -> Cluster:
    return cluster_at(INVENTORY / "aau-ai-cloud")


@pytest.mark.promise("SKY-008", "SKY-162")
def test_users_have_a_share_of_a_head_and_root_has_none(skynet: Cluster) -> None:
    here = files(skynet, "sky1", "sessions")
    assert {"CPUQuota=200%", "MemoryMax=16384M", "TasksMax=4096"} <= set(here[sessions.SHARE].splitlines())
    root = here[sessions.ROOT_SHARE]
    assert [line for line in root.splitlines() if line[:1] not in "#"] == ["[Slice]"]
    # systemd takes the file of a slice for that of all slices if its name is the same
    assert Path(sessions.SHARE).name == Path(sessions.ROOT_SHARE).name
    for node in ("clippy", "marvin", "multivac"):
        assert not {sessions.SHARE, sessions.ROOT_SHARE, sessions.LOGIND} & set(files(skynet, node, "sessions"))


@pytest.mark.promise("SKY-013")
def test_processes_that_users_leave_on_a_head_are_kept_on_request(skynet: Cluster, tmp_path: Path) -> None:
    assert "KillUserProcesses=no\n" in files(skynet, "sky1", "sessions")[sessions.LOGIND]
    ends = changed(INVENTORY / "skynet", tmp_path, ("linger: true", "linger: false"))
    assert "KillUserProcesses=yes\n" in files(ends, "sky1", "sessions")[sessions.LOGIND]


def test_shares_do_not_conflict_with_the_device_limits_of_sessions() -> None:
    assert sessions.SHARE != USER_SLICE
    assert sessions.ROOT_SHARE != ROOT_SLICE
    # systemd reads drop-ins in the order of their names, and the last one wins
    assert sorted([sessions.SHARE, USER_SLICE]) == [USER_SLICE, sessions.SHARE]


@pytest.mark.promise("SKY-164")
def test_the_limit_of_open_files_is_that_of_the_inventory(skynet: Cluster) -> None:
    for node in skynet.nodes:
        if skynet.nodes[node].managed:
            assert "* hard nofile 65536\n" in files(skynet, node, "sessions")[sessions.LIMITS], node
    unit = files(skynet, "clippy", "compute")["/etc/systemd/system/slurmd.service.d/gpupool.conf"]
    assert "LimitNOFILE=65536\n" in unit
    head = files(skynet, "sky1", "head")["/etc/systemd/system/sackd.service.d/gpupool.conf"]
    assert "LimitNOFILE" not in head


def test_without_the_policies_no_file_is_installed(aau: Cluster) -> None:
    for node in aau.nodes.values():
        assert files_of(aau, node, "sessions") == []
        assert files_of(aau, node, "reaper") == []


def test_homes_have_the_mode_of_the_policy(tmp_path: Path) -> None:
    cluster = changed(INVENTORY / "skynet", tmp_path, ("  nofile: 65536\n", '  nofile: 65536\n  home_mode: "0750"\n'))
    assert {home.mode for home in homes_for(cluster, cluster.nodes["multivac"])} == {"0750"}


@pytest.mark.promise("SKY-160")
def test_the_reaper_is_on_compute_nodes_and_never_on_heads(skynet: Cluster) -> None:
    for node in skynet.nodes.values():
        here = reaper.kinds(skynet, node)
        assert ("strays" in here) == node.has("compute"), node.name
        assert ("vscode" in here) == node.has("head"), node.name
        if here:
            assert "python3" in packages_for(skynet, node)
    here = files(skynet, "clippy", "reaper")
    assert "OnUnitActiveSec=600s\n" in here[reaper.units_of("strays")[1]]
    data = json.loads(here[reaper.SETTINGS])["strays"]
    assert (data["grace"], data["spare_users"], data["spare_containers"]) == (1800, ["root", "slurm"], True)
    assert data["spare_users_with_jobs"] is False, "ssh is open there"


@pytest.mark.parametrize(("kind", "node"), [("strays", "clippy"), ("vscode", "sky1")])
def test_the_program_reads_these_settings(
    skynet: Cluster, kind: str, node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = files(skynet, node, "reaper")[reaper.SETTINGS]
    (tmp_path / "reaper.json").write_text(text.replace('"slurm"', '"daemon"'))
    monkeypatch.setattr(sys, "argv", ["reaper", kind, str(tmp_path / "reaper.json"), "--dry-run"])
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    assert main() == 0


def test_timers_have_the_time_and_nodes_of_the_reaper(tmp_path: Path) -> None:
    row = '{job: reaper, every: 10m, where: "@compute", src: "L236 L376", inferred: [every]}'
    none = changed(INVENTORY / "skynet", tmp_path / "none", (f"  - {row}\n", ""))
    assert reaper.kinds(none, none.nodes["clippy"]) == {"strays": 600}
    other = changed(INVENTORY / "skynet", tmp_path / "other", (row, "{job: reaper, every: 1h, where: clippy}"))
    assert reaper.kinds(other, other.nodes["clippy"]) == {"strays": 3600}
    assert reaper.kinds(other, other.nodes["vicki"]) == {}


@pytest.mark.promise("SKY-161")
def test_a_node_is_rebooted_by_slurm_when_its_jobs_have_ended(skynet: Cluster) -> None:
    conf = files(skynet, "marvin", "slurm")["/etc/slurm/slurm.conf"]
    assert "\nRebootProgram=/usr/sbin/reboot\n" in conf
    assert 'Automatic-Reboot "false";' in files(skynet, "clippy", "reboot")[reboot.APT]
    assert files(skynet, "sky1", "reboot") == {}


def test_without_the_policy_a_reboot_is_not_guarded(tmp_path: Path) -> None:
    cluster = changed(INVENTORY / "skynet", tmp_path, ("reboot_only_idle: true", "reboot_only_idle: false"))
    assert "RebootProgram" not in files(cluster, "marvin", "slurm")["/etc/slurm/slurm.conf"]
    assert not {file.path for file in files_for(cluster, cluster.nodes["clippy"])} & {*reboot.COMMANDS, reboot.APT}


def test_the_commands_are_the_same_on_all_nodes_and_use_slurms_node_name(skynet: Cluster, aau: Cluster) -> None:
    for cluster, words in ((skynet, "node=$(uname -n)\n"), (aau, "node=$(uname -n).srv.aau.dk\n")):
        texts = {
            file.text
            for node in cluster.having("compute")
            for file in files_of(cluster, node, "reboot")
            if file.path in reboot.COMMANDS
        }
        assert len(texts) == 1
        assert words in texts.pop()


@pytest.mark.promise("SKY-161")
@pytest.mark.skipif(os.geteuid() != 0, reason="looks at root's processes")
def test_reboot_is_refused_while_a_job_runs(skynet: Cluster, tmp_path: Path) -> None:
    """A program of root with the name of Slurm's; in a PID namespace without other processes."""
    text = files(skynet, "clippy", "reboot")["/usr/local/sbin/reboot"]
    (tmp_path / "reboot").write_text(text.replace('exec "/usr/sbin/$name"', "exec echo done"))
    (tmp_path / "shutdown").write_text((tmp_path / "reboot").read_text())
    shutil.copy("/bin/sleep", tmp_path / "slurmstepd")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        own = ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
        named = [*own, "sh", "-c", 'hostname clippy && exec "$@"', "sh", *command]
        return subprocess.run(named, capture_output=True, text=True, check=False, cwd=tmp_path)

    if run("true").returncode:
        pytest.skip("no PID namespaces here")
    assert run("sh", "./reboot", "-f").stdout == "done -f\n"
    busy = "./slurmstepd 600 & until grep -q slurmstepd /proc/$!/comm; do :; done;"
    refused = run("sh", "-c", f"{busy} sh ./reboot -f")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "reboot: refused: jobs run on this node" in refused.stderr
    assert "scontrol reboot ASAP nextstate=RESUME clippy" in refused.stderr
    assert run("sh", "-c", f"{busy} sh ./shutdown -c").stdout == "done -c\n"
    # any user can give a process this name
    others = "chmod 755 slurmstepd .; setpriv --reuid 20001 ./slurmstepd 600 & until grep -q slurmstepd /proc/$!/comm;"
    tmp_path.chmod(0o755)
    assert run("sh", "-c", f"{others} do :; done; sh ./reboot").stdout == "done\n"
