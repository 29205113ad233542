"""Nodes that are off while idle: their lines in slurm.conf, and the files on them and on the controllers."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.elastic import CHECK, RESUME, SETTINGS, SUSPEND, folder, parameters
from gpupool.compile.stamp import stamps
from gpupool.compile.system.packages import packages_for
from gpupool.testbed.overlay import stand_in
from tests.unit.compile.slurm.test_conf import rows, settings

CLOUD = "cloud: {driver: openstack, starting: 1, idle_after: 10m, boot_timeout: 4m, shutdown_timeout: 1m}\naccounts:"


@pytest.fixture
def cloudy(tmp_path: Path) -> Cluster:
    """A cluster with two kinds of nodes: powered down when idle, and always on."""
    two = '  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", '
    one = "  - {name: gpu-1, address: 10.90.2.1, elastic: true, "
    rest = "roles: [compute], hardware: box, gpus: {a40: 8}}\n"
    other = f"{one}{rest}  - {{name: gpu-2, address: 10.90.2.2, "
    return changed(SMALL, tmp_path, (two, other), ("accounts:", CLOUD))


@pytest.mark.promise("GCP-033")
def test_nodes_of_a_cloud_are_elastic_in_a_testbed_too() -> None:
    cluster = cluster_at(INVENTORY / "gcp-slurm")
    for each in (cluster, stand_in(cluster, cgroup="v2")):
        assert {row["State"] for row in rows(slurm_conf(each), "NodeName").values()} == {"CLOUD"}
        assert each.cloud


def test_only_elastic_nodes_are_suspended(cloudy: Cluster) -> None:
    text = slurm_conf(cloudy)
    assert {name: row["State"] for name, row in rows(text, "NodeName").items()} == {
        "gpu-1": "CLOUD",
        "gpu-2": "UNKNOWN",
    }
    values = settings(text)
    assert values["SuspendExcNodes"] == "gpu-2"
    assert (values["SuspendTime"], values["SuspendTimeout"]) == ("600", "60")
    assert (values["ResumeProgram"], values["SuspendProgram"], values["ResumeFailProgram"]) == (
        RESUME,
        SUSPEND,
        SUSPEND,
    )
    assert "cloud_dns" in values["SlurmctldParameters"]
    assert values["PrivateData"] == "cloud", "users see nodes that are off"


def test_the_resume_timeout_includes_the_wait_for_other_starts() -> None:
    cluster = cluster_at(INVENTORY / "gcp-slurm")
    assert cluster.cloud
    assert cluster.cloud.starting == 2
    without = cluster.policies.model_copy(update={"reboot_only_idle": False})
    assert parameters(replace(cluster, policies=without))["ResumeTimeout"] == str(2 * cluster.cloud.boot_timeout)


def test_a_cluster_without_elastic_nodes_has_no_keys_or_files_for_them(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path)
    assert "Suspend" not in slurm_conf(cluster)
    assert not any(files_of(cluster, node, "elastic") for node in cluster.nodes.values())
    assert not any("python3-libcloud" in packages_for(cluster, node) for node in cluster.nodes.values())


def test_the_program_is_on_controllers_and_the_check_on_elastic_nodes(cloudy: Cluster) -> None:
    files = {
        name: {file.path: file for file in files_of(cloudy, node, "elastic")} for name, node in cloudy.nodes.items()
    }
    assert {RESUME, SUSPEND, SETTINGS} < set(files["ctl"])
    assert CHECK in files["gpu-1"]
    assert not files["gpu-2"]
    assert "python3-libcloud" in packages_for(cloudy, cloudy.nodes["ctl"])
    document = json.loads(files["ctl"][SETTINGS].text)
    assert (document["driver"], document["starting"], document["boot_timeout"]) == ("openstack", 1, 240)
    assert document["machines"] == {"gpu-1": "gpu-1"}


def test_a_stamp_changes_with_the_files_of_the_node_only(cloudy: Cluster, tmp_path: Path) -> None:
    before = dict(stamps(cloudy))
    assert list(before) == ["gpu-1"]
    # limits are slurmdbd's; a user exists on every node
    for old, new, same in (
        ("contributed_gpus: 10}", "contributed_gpus: 9}", True),
        ("{name: ann, uid: 20001,", "{name: ann, uid: 20002,", False),
    ):
        text = (tmp_path / "inventory.yml").read_text()
        other = tmp_path / new[:5].strip("{:")
        other.mkdir()
        assert old in text
        (other / "inventory.yml").write_text(text.replace(old, new))
        assert (dict(stamps(load(other))) == before) is same


@pytest.mark.parametrize(("path", "power"), [(RESUME, "on"), (SUSPEND, "off")])
def test_the_programs_of_slurmctld_write_a_request_for_each_node(
    cloudy: Cluster, tmp_path: Path, path: str, power: str
) -> None:
    text = next(file.text for file in files_of(cloudy, cloudy.nodes["ctl"], "elastic") if file.path == path)
    wishes = tmp_path / "wishes"
    script = tmp_path / "program"
    script.write_text(text.replace(folder(cloudy), str(wishes)).replace("PATH=", f"PATH={tmp_path}:"))
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\n[ "$1 $2 $3" = "show hostnames gpu-[1-2]" ] && printf "gpu-1\\ngpu-2\\n"\n')
    scontrol.chmod(0o755)
    subprocess.run(["sh", str(script), "gpu-[1-2]"], check=True)
    assert {file.name: file.read_text() for file in wishes.iterdir()} == dict.fromkeys(("gpu-1", "gpu-2"), f"{power}\n")
