"""Preemption and its mode: the same keys on partitions and QoS, in Slurm's files and in its accounting."""

from pathlib import Path

import pytest
from inventories import SMALL, changed
from submitted import ALL, Plugin, pool

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm import arbiter
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.programs.arbiter.decide import Settings
from tests.unit.compile.slurm.test_conf import rows, settings

LOW = """
  - {name: low, nodes: "@compute", tier: 0, preemptable: true, grace: 1m}
  - {name: lower, nodes: "@compute", tier: 0, preemptable: true, preempt_action: cancel}
scheduler: {"""
QOS = """{default: true, preempts: [patient, guest]}
  guest: {preemptable: true, preempt_action: cancel, grace: 2m}
  patient: {preemptable: true, preempts: [guest]}"""
PLACE = """
  - {name: guests, nodes: "@compute", qos: [guest]}
  - {name: either, nodes: "@compute", qos: [patient, guest]}
scheduler: {"""


@pytest.fixture
def by_partition(tmp_path: Path) -> Cluster:
    return changed(SMALL, tmp_path, ("\nscheduler: {", LOW))


@pytest.fixture
def by_qos(tmp_path: Path) -> Cluster:
    return changed(SMALL, tmp_path, ("{default: true}", QOS), ("\nscheduler: {", PLACE))


def test_each_partition_has_its_action(by_partition: Cluster) -> None:
    text = slurm_conf(by_partition)
    assert (settings(text)["PreemptType"], settings(text)["PreemptMode"]) == ("preempt/partition_prio", "REQUEUE")
    modes = {name: (row["PreemptMode"], row.get("GraceTime")) for name, row in rows(text, "PartitionName").items()}
    off = ("OFF", None)
    assert modes == {"all": off, "red": off, "low": ("REQUEUE", "60"), "lower": ("CANCEL", "0")}
    assert {"Preempt", "PreemptMode", "GraceTime"}.isdisjoint(entities(by_partition)["qos"]["normal"])


def test_suspended_jobs_are_resumed_by_gang_scheduling(tmp_path: Path) -> None:
    low = LOW.replace("@compute", "cpu-1").replace("cancel", "suspend")
    cpus = "gpus: {a40: 8}}\n  - {name: cpu-1, address: 10.90.2.9, roles: [compute], hardware: box}"
    cluster = changed(SMALL, tmp_path, ("\nscheduler: {", low), ("gpus: {a40: 8}}", cpus))
    text = slurm_conf(cluster)
    assert settings(text)["PreemptMode"] == "SUSPEND,GANG"
    shown = rows(text, "PartitionName")
    assert {name: row["PreemptMode"] for name, row in shown.items()} == {
        "all": "OFF", "red": "OFF", "low": "REQUEUE", "lower": "SUSPEND",
    }  # fmt: skip
    assert {name for name, row in shown.items() if "OverSubscribe" in row} == {"lower"}
    assert shown["lower"]["OverSubscribe"] == "FORCE:1"
    known = arbiter.settings(cluster)
    assert known
    assert set(known["grace"]) == {"low"}, "a suspended job needs no grace time"


def test_with_preemption_by_qos_partitions_have_no_mode(by_qos: Cluster) -> None:
    text = slurm_conf(by_qos)
    assert (settings(text)["PreemptType"], settings(text)["PreemptMode"]) == ("preempt/qos", "REQUEUE")
    for row in rows(text, "PartitionName").values():
        assert {"PreemptMode", "GraceTime"}.isdisjoint(row)


def test_a_qos_preempts_the_qos_that_it_names(by_qos: Cluster) -> None:
    qos = entities(by_qos)["qos"]
    keys = ("Preempt", "PreemptMode", "GraceTime")
    assert {name: {key: its[key] for key in keys if key in its} for name, its in qos.items()} == {
        "normal": {"Preempt": ["guest", "patient"]},
        "guest": {"PreemptMode": "cancel", "GraceTime": 120},
        "patient": {"Preempt": ["guest"]},
    }


def test_a_partition_of_preemptable_qos_is_preemptable(by_qos: Cluster) -> None:
    shown = {
        name: (partition.preemptable, partition.grace, partition.action)
        for name, partition in by_qos.partitions.items()
    }
    assert shown == {
        "all": (False, 0, "requeue"),
        "red": (False, 0, "requeue"),
        "guests": (True, 120, "cancel"),
        "either": (True, 120, "cancel"),
    }


def test_the_arbiter_knows_each_action_and_grace_time(by_partition: Cluster, by_qos: Cluster) -> None:
    of_partitions, of_qos = arbiter.settings(by_partition), arbiter.settings(by_qos)
    assert of_partitions
    assert of_qos
    assert (of_partitions["grace"], of_partitions["qos_grace"]) == ({"low": 60, "lower": 0}, {})
    assert (of_partitions["action"], of_partitions["actions"]) == ("requeue", {"lower": "cancel"})
    assert (of_qos["grace"], of_qos["qos_grace"]) == ({}, {"guest": 120, "patient": 0})
    assert of_qos["actions"] == {"guest": "cancel"}
    for data in (of_partitions, of_qos):
        assert Settings(**data)


def test_no_component_of_a_job_has_a_preemptable_qos(tmp_path: Path) -> None:
    instead = {
        "normal: {default: true}": "normal: {default: true, preempts: [guest]}\n  guest: {preemptable: true}",
        "short: {max_wall: 2d}": "short: {max_wall: 2d, preempts: [guest]}",
        "long: {max_wall: 7d}": "long: {max_wall: 7d, preempts: [guest]}",
        "limits: {per_user: {gpu: 4}}": "preempts: [guest], limits: {per_user: {gpu: 4}}",
        "preemptable: true, grace: 1m": "qos: [guest]",
    }
    text = job_submit_lua(pool(tmp_path, ALL, instead=instead))
    assert text is not None
    plugin = Plugin(text, partitions={"short": 2880, "overcap": 2880})
    asked = {"tres_per_node": "gres/gpu:a40:1", "partition": "short"}
    assert plugin.submit(**asked, qos="guest").accepted
    assert plugin.submit(**asked, qos="normal", het_job_offset=0).accepted
    for given in ({"qos": "guest"}, {"qos": "normal,GUEST"}, {"default_qos": "guest"}):
        refused = plugin.submit(**asked, **given, het_job_offset=0)
        assert not refused.accepted
        assert "cannot have the QoS guest" in refused.told[0]
    assert not plugin.submit(**{**asked, "partition": "overcap"}, het_job_offset=0).accepted
    assert not plugin.modify({"qos": "guest"}, {"het_job_id": 7, "partition": "short"}).accepted
