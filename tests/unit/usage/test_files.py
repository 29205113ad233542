"""The nodes that count, purge and audit, and the files of their timers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY, STORED, cluster_at
from yaml import safe_dump, safe_load

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.usage import SETTINGS, Counted, Purged, files, jobs_for
from gpupool.testbed.overlay import stand_in


def counted(cluster: Cluster) -> dict[str, list[str]]:
    paths = {name: [tree.seen for tree in jobs_for(cluster, node).count] for name, node in cluster.nodes.items()}
    return {name: seen for name, seen in paths.items() if seen}


def texts(cluster: Cluster, name: str) -> dict[str, str]:
    return {file.path: file.text for file in files(cluster, cluster.nodes[name])}


@pytest.mark.promise("SKY-095", "SKY-098")
def test_each_server_counts_its_spaces_scratch_and_datasets_but_no_homes_and_no_state(skynet: Cluster) -> None:
    by_node = counted(skynet)
    assert by_node["multivac"] == ["/coc/pskynet1", "/coc/pskynet2", "/coc/scratch"]
    assert by_node["microvac"] == ["/coc/pskynet3", "/coc/dataset"]
    everywhere = [path for paths in by_node.values() for path in paths]
    assert len(everywhere) == len(set(everywhere)) == 15
    assert not {"/nethome", "/var/spool/slurm-state"} & set(everywhere)
    assert {skynet.nodes[name].roles for name in by_node} == {("fileserver",)}


def test_an_export_without_users_directories_or_links_is_not_counted() -> None:
    assert counted(cluster_at(STORED)) == {"fs1": ["/mnt/red", "/mnt/blue"], "fs2": ["/mnt/scratch"]}


@pytest.mark.promise("SKY-097")
def test_the_count_is_weekly_and_has_the_lowest_priority(skynet: Cluster) -> None:
    files = texts(skynet, "multivac")
    timer = files["/etc/systemd/system/gpupool-usage.timer"].splitlines()
    assert "OnCalendar=weekly" in timer
    assert "Persistent=yes" in timer
    service = files["/etc/systemd/system/gpupool-usage.service"].splitlines()
    assert {"Nice=19", "IOSchedulingClass=idle", "ProtectSystem=strict"} <= set(service)
    assert "ReadWritePaths=-/pskynet1 -/pskynet2 -/export/scratch" in service


@pytest.mark.promise("SKY-090")
def test_the_audit_knows_the_members_of_all_labs_that_share_a_space(skynet: Cluster) -> None:
    (shared,) = [tree for tree in jobs_for(skynet, skynet.nodes["galactic-ac"]).audit if tree.name == "pskynet4"]
    labs = {"kira-lab", "hoffman-lab"}
    members = {user.name: user.uid for user in skynet.users.values() if labs & {user.account, *user.accounts}}
    assert shared.owners == members
    assert members
    assert "OnCalendar=daily" in texts(skynet, "galactic-ac")["/etc/systemd/system/gpupool-audit.timer"].splitlines()


# the paths of homes (and with them the only other export) and of slurmctld's state
SPARED = ("/prj", "/var/spool/slurmctld")


@pytest.mark.promise("SDU-009")
def test_a_purge_runs_on_the_server_and_keeps_directories_of_the_cluster() -> None:
    cluster = cluster_at(INVENTORY / "santos-dumont")
    by_node = {name: jobs_for(cluster, node).purge for name, node in cluster.nodes.items()}
    rule = Purged("/scratch", 60 * 86400, 86400, keep=2, spared=SPARED)
    assert {name: rules for name, rules in by_node.items() if rules} == {"sdumont-fs": (rule,)}
    timer = texts(cluster, "sdumont-fs")["/etc/systemd/system/gpupool-purge.timer"].splitlines()
    assert "Persistent=yes" not in timer, "files must not go because a machine was off"


def test_a_purge_of_an_export_spares_the_state_of_slurmctld(tmp_path: Path) -> None:
    """By the server's own path, since the purge walks that tree."""

    def elsewhere(data: dict[str, Any]) -> None:
        if "storage" in data:
            data["storage"]["exports"]["scratch"] |= {"path": "/zfs/scratch", "dataset": "scratch/all"}

    cluster = changed("santos-dumont", tmp_path, elsewhere)
    inside = replace(cluster, slurm=cluster.slurm.model_copy(update={"state": "/scratch/slurmctld"}))
    (rule,) = jobs_for(inside, inside.nodes["sdumont-fs"]).purge
    assert (rule.path, rule.spared[-1]) == ("/zfs/scratch", "/zfs/scratch/slurmctld")


@pytest.mark.parametrize(("path", "keep"), [("/scratch/tmp", 1), ("/scratch/p-one/u-one/runs", 1), ("/scratch", 2)])
def test_a_purge_of_a_part_keeps_users_directories_in_it(path: str, keep: int, tmp_path: Path) -> None:
    def part(data: dict[str, Any]) -> None:
        if "storage" in data:
            data["storage"]["purge"] = [{"path": path, "not_updated_for": "60d"}]

    cluster = changed("santos-dumont", tmp_path, part)
    assert jobs_for(cluster, cluster.nodes["sdumont-fs"]).purge == (Purged(path, 60 * 86400, 86400, keep, SPARED),)


def changed(name: str, folder: Path, change: Callable[[dict[str, Any]], None]) -> Cluster:
    """Load an inventory with some of its storage or nodes changed."""
    for path in (INVENTORY / name).glob("*.yml"):
        data = safe_load(path.read_text())
        change(data)
        (folder / path.name).write_text(safe_dump(data))
    return load(folder)


def test_if_the_server_is_unmanaged_the_first_head_runs_the_timers(tmp_path: Path) -> None:
    def unmanaged(data: dict[str, Any]) -> None:
        for node in data.get("nodes", ()):
            if node["name"] == "files":
                node["managed"] = False
        if "nodes" in data:
            data["nodes"].sort(key=lambda node: "head" in node["roles"])
        if "storage" in data:
            del data["storage"]["pools"]
            for name, export in data["storage"]["exports"].items():
                data["storage"]["exports"][name] = {
                    key: value
                    for key, value in export.items()
                    if key in ("server", "path", "at", "mount_on", "enabled")
                }

    cluster = changed("example", tmp_path, unmanaged)
    assert not jobs_for(cluster, cluster.nodes["files"]).intervals
    assert jobs_for(cluster, cluster.nodes["login1"]).count == (
        Counted("/mnt/projects", 1, "/mnt/projects"),
        Counted("/mnt/scratch", 1, "/mnt/scratch"),
    )
    service = texts(cluster, "login1")["/etc/systemd/system/gpupool-usage.service"]
    assert "ReadWritePaths" not in service, "a server that is away would keep the unit from starting"
    assert "ProtectSystem=full" in service


def test_if_no_head_mounts_the_export_the_first_node_with_it_runs_the_timers(tmp_path: Path) -> None:
    def unmanaged(data: dict[str, Any]) -> None:
        for node in data.get("nodes", ()):
            if node["name"] == "files":
                node["managed"] = False
        if "storage" in data:
            del data["storage"]["pools"]
            for name, export in data["storage"]["exports"].items():
                kept = {key: value for key, value in export.items() if key in ("server", "path", "at", "enabled")}
                data["storage"]["exports"][name] = {**kept, "mount_on": "@compute"}

    cluster = changed("example", tmp_path, unmanaged)
    first, *others = cluster.having("compute")
    assert [tree.seen for tree in jobs_for(cluster, first).count] == ["/mnt/projects", "/mnt/scratch"]
    assert others
    assert not any(jobs_for(cluster, node).count for node in others)


def test_a_purge_of_local_directories_runs_on_each_node(tmp_path: Path) -> None:
    def purge(data: dict[str, Any]) -> None:
        if "storage" in data:
            data["storage"]["purge"] = [{"path": "/local", "not_updated_for": "10d", "every": "3d"}]

    cluster = changed("example", tmp_path, purge)
    having = [name for name, node in cluster.nodes.items() if jobs_for(cluster, node).purge]
    assert having == [node.name for node in cluster.having("compute")]
    timer = texts(cluster, having[0])["/etc/systemd/system/gpupool-purge.timer"].splitlines()
    assert {"OnActiveSec=259200s", "OnUnitActiveSec=259200s"} <= set(timer)
    assert "python3" in packages_for(cluster, cluster.nodes[having[0]])


def test_without_the_keys_there_are_no_timers(tmp_path: Path) -> None:
    def silent(data: dict[str, Any]) -> None:
        if "storage" in data:
            del data["storage"]["usage_report"]
            del data["storage"]["space_rules"]

    cluster = changed("example", tmp_path, silent)
    assert [file for node in cluster.nodes.values() for file in files(cluster, node)] == []


def test_a_testbed_counts_the_exports_of_its_servers_without_a_sandbox(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v2")
    assert counted(twin) == {"multivac": counted(skynet)["multivac"]}
    assert "Protect" not in texts(twin, "multivac")["/etc/systemd/system/gpupool-usage.service"]
    machine = replace(twin, drivers=replace(twin.drivers, machines=frozenset({"multivac"})))
    assert "ProtectSystem=strict" in texts(machine, "multivac")["/etc/systemd/system/gpupool-usage.service"]


def test_every_file_names_gpupool_as_its_author(skynet: Cluster) -> None:
    acting = {path: text for path, text in texts(skynet, "multivac").items() if not path.endswith(".py")}
    assert [path for path, text in acting.items() if "Written by gpupool " not in text] == []
    assert [path for path, text in acting.items() if not text.endswith("\n")] == []
    assert json.loads(acting[SETTINGS])["file"] == "disk-usage.txt"
