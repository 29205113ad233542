"""The differences between a twin and production are in one table, and any other difference is found."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import inventories
import pytest
from hostlists import each
from hypothesis import given
from hypothesis import strategies as st
from inventories import INVENTORY, SMALL, cluster_at, copied

from gpupool.cluster.model import Cluster
from gpupool.errors import TwinError, UsageError
from gpupool.rehearsal.twin.accounting import short_graces
from gpupool.rehearsal.twin.compiled import Compiled, cannot, compiled, of_version
from gpupool.rehearsal.twin.differences import Difference, applied, unnamed
from gpupool.rehearsal.twin.differences.table import GRACE, differences, place_of
from gpupool.rehearsal.twin.differences.text import changed, masked
from gpupool.rehearsal.whole import request
from gpupool.slurm.releases import TESTED, Tested

INVENTORIES = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))
CONF = "/etc/slurm/slurm.conf"
# settings of access and priority, which may never be in the table
POLICY = {
    *("PreemptType", "PreemptMode", "PreemptParameters", "AccountingStorageEnforce", "EnforcePartLimits"),
    *("PriorityType", "SelectType", "SelectTypeParameters", "SchedulerParameters", "JobSubmitPlugins"),
    *("DefMemPerGPU", "DefMemPerCPU", "SlurmdTimeout", "ReturnToService"),
}
PARTITION = {
    *("Nodes", "MaxTime", "MaxNodes", "PriorityTier", "PreemptMode", "AllowAccounts", "DenyAccounts", "AllowQos"),
    *("QOS", "Default"),
}


@cache
def _cluster(name: str) -> Cluster:
    return cluster_at(INVENTORY / name)


def _made(name: str, version: Tested = "24.11") -> tuple[Compiled, tuple[Difference, ...]]:
    cluster = of_version(_cluster(name), version)
    return compiled(cluster), differences(place_of(cluster, version))


def _lines(files: dict[str, str], key: str) -> list[str]:
    return [line for line in files[CONF].splitlines() if line.startswith(f"{key}=")]


@pytest.mark.parametrize("version", TESTED)
@pytest.mark.parametrize("name", INVENTORIES)
def test_the_table_has_every_difference(name: str, version: Tested) -> None:
    production, table = _made(name, version)
    twin = applied(production.files, table)
    assert unnamed(production.files, twin, table) == []
    assert twin[CONF] != production.files[CONF]


def test_policy_is_not_in_the_table() -> None:
    _, table = _made("skynet")
    named = {row.key for row in table if row.file == CONF}
    assert not named & {*POLICY, *(f"PartitionName {key}" for key in PARTITION)}
    assert {name for name in named if name.startswith("PartitionName")} == {"PartitionName GraceTime"}
    # a file that is not in the table is identical to production
    assert not any(row.file.endswith(("job_submit.lua", "gres.conf")) for row in table)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PreemptType=preempt/partition_prio", "PreemptType=preempt/qos"),
        ("AccountingStorageEnforce=associations,limits,qos,safe", "AccountingStorageEnforce=associations"),
        ("PriorityTier=10", "PriorityTier=90"),
        ("DenyAccounts=overcap ", ""),
        ("RealMemory=", "RealMemory=1"),
        ("MaxTime=04:00:00", "MaxTime=04:01:00"),
    ],
)
def test_a_difference_outside_the_table_is_found(old: str, new: str) -> None:
    production, table = _made("skynet")
    twin = applied(production.files, table)
    assert old in twin[CONF]
    lines = unnamed(production.files, {**twin, CONF: twin[CONF].replace(old, new)}, table)
    assert any(old.split("=")[0] in line for line in lines)


def test_an_added_or_missing_line_or_file_is_found() -> None:
    production, table = _made("skynet")
    twin = applied(production.files, table)
    assert unnamed(production.files, {**twin, CONF: twin[CONF] + "FirstJobId=7\n"}, table)
    assert unnamed(production.files, {**twin, "/etc/slurm/topology.conf": ""}, table)
    assert unnamed(production.files, {path: text for path, text in twin.items() if "gres" not in path}, table)


def test_a_file_that_a_twin_lacks_is_not_added_changed() -> None:
    production, table = _made("skynet")
    twin = applied(production.files, table)
    assert "/etc/hostname" in production.files
    assert "/etc/hostname" not in twin
    assert unnamed(production.files, {**twin, "/etc/hostname": "other\n"}, table)


def test_a_key_of_the_table_that_production_lacks_is_an_error() -> None:
    production, table = _made("skynet")
    without = production.files[CONF].replace("ProctrackType=proctrack/cgroup\n", "")
    with pytest.raises(TwinError, match=r"has ProctrackType in /etc/slurm/slurm.conf, which production's"):
        applied({**production.files, CONF: without}, table)


def test_the_table_replaces_values_of_production() -> None:
    production, table = _made("skynet")
    twin = applied(production.files, table)
    assert _lines(twin, "SlurmctldHost") == _lines(dict(production.files), "SlurmctldHost")[:1]
    nodes = [row for line in _lines(twin, "NodeName") for row in each(line)]
    assert {row["NodeName"]: int(row["Port"]) for row in nodes} == place_of(_cluster("skynet"), "24.11").ports
    assert len({row["Port"] for row in nodes}) == 36
    assert {row["NodeHostname"] for row in nodes} == {"marvin"}
    assert _lines(twin, "NodeName")[1].startswith("NodeName=a40-[01-04] NodeAddr=10.66.10.[1-4] ")
    graces = {word for line in _lines(twin, "PartitionName") for word in line.split() if word.startswith("GraceTime")}
    assert graces == {f"GraceTime={GRACE}"}
    assert twin["/etc/slurm/cgroup.conf"].count("CgroupPlugin=disabled") == 1
    assert twin["/etc/slurm/gres.conf"] == production.files["/etc/slurm/gres.conf"]


def test_slurmd_parameters_of_the_inventory_are_kept() -> None:
    production, table = _made("skynet")
    text = production.files[CONF] + "SlurmdParameters=l3cache_as_socket\n"
    twin = applied({**production.files, CONF: text}, table)
    assert _lines(twin, "SlurmdParameters") == ["SlurmdParameters=l3cache_as_socket,config_overrides"]


def test_elastic_nodes_are_in_the_twin() -> None:
    production, table = _made("gcp-slurm")
    twin = applied(production.files, table)
    assert "State=CLOUD" in production.files[CONF]
    assert "State=CLOUD" not in twin[CONF]
    assert "\nSuspend" not in twin[CONF]


def test_a_release_has_only_the_keys_that_it_knows() -> None:
    production, _ = _made("skynet", "22.05")
    assert "RestrictedCoresPerGPU" not in production.files[CONF]
    assert "neighbour-cpus" in cannot("22.05")
    production, _ = _made("skynet", "26.05")
    assert "RestrictedCoresPerGPU" in production.files[CONF]
    assert not cannot("26.05")


def test_grace_times_of_the_arbiter_are_those_of_slurm_conf() -> None:
    production, table = _made("skynet")
    path = "/etc/gpupool/arbiter.json"
    assert '"overcap": 300' in production.files[path]
    twin = applied(production.files, table)
    assert f'"overcap": {GRACE}' in twin[path]
    assert unnamed(production.files, {**twin, path: twin[path].replace('"requeue"', '"cancel"')}, table)


def test_grace_times_of_qos_are_as_short() -> None:
    entities = {
        "cluster": "x",
        "qos": {"guest": {"GraceTime": 300}, "short": {"GraceTime": 1}, "normal": {"Priority": 1}},
    }
    assert short_graces(entities) == {
        "cluster": "x",
        "qos": {"guest": {"GraceTime": GRACE}, "short": {"GraceTime": 1}, "normal": {"Priority": 1}},
    }
    assert entities["qos"]["guest"] == {"GraceTime": 300}  # type: ignore[index]


def test_a_short_grace_time_is_not_made_longer() -> None:
    cluster = _cluster("skynet")
    partitions = {
        name: replace(partition, grace=min(partition.grace, 2)) for name, partition in cluster.partitions.items()
    }
    cluster = replace(cluster, partitions=partitions)
    twin = applied(compiled(cluster).files, differences(place_of(cluster, "24.11")))
    assert "GraceTime=2" in twin[CONF]


_names = st.text("abcXYZ_", min_size=1, max_size=6)
_values = st.text("abc019/,.()", min_size=1, max_size=8)


@given(st.lists(st.tuples(_names, _values), max_size=8), _names, _values)
def test_changing_a_key_leaves_every_other_line(pairs: list[tuple[str, str]], key: str, value: str) -> None:
    text = "".join(f"{name}={value}\n" for name, value in pairs)
    twin, seen = changed(text, key, None, lambda *_: value)
    assert seen == any(name.lower() == key.lower() for name, _ in pairs)
    assert masked(twin, {(key, None)}) == masked(text, {(key, None)})
    assert f"={value}" in twin


@given(st.lists(st.lists(st.tuples(_names, _values), min_size=1, max_size=4), max_size=4), _names, _values)
def test_changing_a_word_leaves_every_other_word(lines: list[list[tuple[str, str]]], key: str, value: str) -> None:
    text = "".join("NodeName=n " + " ".join(f"{name}={value}" for name, value in words) + "\n" for words in lines)
    twin, _ = changed(text, "NodeName", key, lambda *_: value)
    assert masked(twin, {("NodeName", key)}) == masked(text, {("NodeName", key)})
    assert all(f" {key}={value}" in line for line in twin.splitlines())


NO_LABS = (
    ("kind: lab, gid: 5001, contributed_gpus: 10", "kind: group, gid: 5001"),
    ("kind: lab, gid: 5002, contributed_gpus: 6", "kind: group, gid: 5002"),
)


def test_a_twin_has_own_daemons_users_and_control_groups_where_the_site_keeps_its(tmp_path: Path) -> None:
    """The rest that the site keeps is policy, and stays."""
    left = (
        "gpu_types:",
        "slurm:\n  left: [cgroups, steps, configless, place, enforce]\n"
        "  parameters: {SlurmUser: hpc, SlurmdLogFile: /srv/slurmd.log, ProctrackType: proctrack/pgid}\n"
        "  cgroup: {parameters: {ConstrainCores: 'no'}}\ngpu_types:",
    )
    managed = ("network: 10.90.0.0/16", "network: 10.90.0.0/16, manage: [slurm, accounts]")
    cluster = of_version(inventories.changed(SMALL, tmp_path, left, managed, *NO_LABS), "24.11")
    production, table = compiled(cluster), differences(place_of(cluster, "24.11"))
    twin = applied(production.files, table)
    assert unnamed(production.files, twin, table) == []
    assert "/etc/slurm/slurmdbd.conf" in twin
    assert _lines(twin, "SlurmUser") == ["SlurmUser=slurm"]
    assert _lines(twin, "EnforcePartLimits") == []


def test_a_rehearsal_refuses_an_inventory_with_the_site_s_own_gres_conf(tmp_path: Path) -> None:
    copied(SMALL, tmp_path, ("gpu_types:", "slurm: {left: [gpus]}\ngpu_types:"), *NO_LABS)
    with pytest.raises(UsageError, match="take the step gpus first"):
        request(tmp_path, None, None, None, keep=False)
