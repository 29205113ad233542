"""A scratch slurmctld shows values of the cluster's files and of the inventory's, and which differences remain."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpupool.adopt import judged
from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted, adopted
from gpupool.adopt.judged import Verdict, by_slurmctld
from gpupool.adopt.scratch import of_inventory, of_site
from gpupool.errors import TestbedError
from gpupool.rehearsal.judge import reading

SHOWN = """-- config
Configuration data as of 2030-01-31T08:00:00
AccountingStorageEnforce = none
BOOT_TIME               = 2030-01-31T08:00:00
EnforcePartLimits       = ANY
KillWait                = 30 sec
MaxArraySize            = 2000
Prolog[0]               = /a
Prolog[1]               = /b
SLURM_VERSION           = 24.11.5
SlurmctldHost[0]        = judge(192.0.2.1)
TaskPlugin              = (null)

Cgroup Support Configuration:
ConstrainCores          = no

MPI Plugins Configuration:
PMIxTimeout             = 300

Slurmctld(primary) at judge is UP
-- node
NodeName=c1 CPUTot=4 CPULoad=0.00 AvailableFeatures=(null) NodeAddr=c1 Comment=two words CfgTRES=cpu=4,mem=1M
-- partition
PartitionName=p AllowAccounts=bio,chem Nodes=c1 QoS=N/A MaxTime=UNLIMITED TotalNodes=1
"""
CONF = """ClusterName=Sea # the sea
SlurmctldHost=ctl
AccountingStoragePass = hunter2
AccountingStorageType=accounting_storage/slurmdbd MaxArraySize=2000
FastSchedule=1 TaskPluginParam=Sched,Cores
EnforcePartLimits=YES
Include parts
NodeName=DEFAULT CPUs=4
NodeName=c1 NodeAddr=c1.lan
PartitionName=none Nodes=gone
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A cluster's files."""
    (tmp_path / "slurm.conf").write_text(CONF, encoding="utf-8")
    (tmp_path / "parts").write_text("PartitionName=p Nodes=c1 AllowAccounts=bio,chem\n", encoding="utf-8")
    (tmp_path / "slurmdbd.conf").write_text("StorageLoc=x\n", encoding="utf-8")
    return Folder(tmp_path)


@pytest.fixture
def result(folder: Folder) -> Adopted:
    """The inventory of these files."""
    return adopted(Folder(folder.top), "24.11")


Judge = Callable[..., Verdict]


@pytest.fixture
def judged_with(folder: Folder, result: Adopted, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return the verdict on what slurmctld shows of both files; the second argument replaces texts in the second."""

    def verdict(now: str = SHOWN, *replaced: tuple[str, str], new: str = SHOWN) -> Verdict:
        for old, text in replaced:
            assert old in new
            new = new.replace(old, text)
        monkeypatch.setattr(judged, "judge", lambda *_: (reading(now), reading(new)))
        return by_slurmctld(result, Folder(folder.top), "24.11", lambda _: None)

    return verdict


def test_what_scontrol_shows_is_read_by_key() -> None:
    shown = reading(SHOWN)
    assert shown.version == "24.11.5"
    assert shown.settings["prolog"] == "/a /b"
    assert (shown.settings["taskplugin"], shown.settings["pmixtimeout"]) == ("", "300")
    assert shown.cgroup == {"constraincores": "no"}
    assert shown.nodes["c1"]["comment"] == "two words"
    assert shown.nodes["c1"]["cfgtres"] == "cpu=4,mem=1M"
    assert shown.partitions["p"]["qos"] == ""
    assert reading(f"{SHOWN.partition('PartitionName')[0]}No partitions in the system\n").partitions == {}
    refused = reading("refused\nerror: a line\nfatal: Unable to process configuration file\n")
    assert refused.refused == "a line"


def test_a_scratch_slurmctld_gets_the_files_without_other_hosts_and_slurmdbd(folder: Folder, result: Adopted) -> None:
    removed = {"fastschedule": "", "taskpluginparam": "cores"}
    files = of_site(folder, result.conf, result.names, "judge", "192.0.2.1", removed)
    assert {*files} == {"slurm.conf"}
    assert files["slurm.conf"].splitlines() == [
        "SlurmctldHost=judge(192.0.2.1)",
        "AccountingStorageType=accounting_storage/none",
        "ClusterName=Sea",
        'MaxArraySize="2000"',
        'TaskPluginParam="cores"',
        "EnforcePartLimits=YES",
        "PartitionName=p Nodes=c1 AllowAccounts=bio,chem",
        "NodeName=DEFAULT CPUs=4",
        "NodeName=c1 NodeAddr=c1.lan",
    ]
    assert result.loaded.cluster
    ours = of_inventory(result.loaded.cluster, "judge", "192.0.2.1")
    assert "MaxArraySize=2000" in ours["slurm.conf"]
    assert "slurmdbd" not in ours["slurm.conf"]


def test_slurmctld_has_the_last_word_on_what_it_shows(judged_with: Judge, result: Adopted) -> None:
    found = judged_with()
    assert (found.version, found.why, found.refused) == ("24.11.5", "", "")
    assert found.compared == "9 settings, 1 node, 1 partition"
    parsed = list(map(str, result.differences or ()))
    removed = ["slurm.conf:5: FastSchedule: 1, would be not set"]
    assert {*removed} < {*parsed}
    assert [text for text in map(str, found.differences) if "FastSchedule" in text] == removed
    assert [one for one in found.differences if one.section in ("node", "partition")] == []


def test_what_only_slurmctld_sees_is_a_difference_with_its_line_and_cause(judged_with: Judge) -> None:
    found = judged_with(
        SHOWN,
        ("MaxArraySize            = 2000", "MaxArraySize            = 1001"),
        ("BOOT_TIME               = 2030-01-31T08:00:00", "BOOT_TIME               = 2031-01-31T08:00:00"),
        ("AllowAccounts=bio,chem", "AllowAccounts=chem,bio"),
        ("MaxTime=UNLIMITED", "MaxTime=01:00:00"),
        ("CPUTot=4", "CPUTot=8"),
        ("ConstrainCores          = no", "ConstrainCores          = yes"),
    )
    expected = {
        ("slurm.conf:4: MaxArraySize: 2000, would be 1001", "other settings"),
        ("ConstrainCores of cgroup.conf: no, would be yes", "cgroups"),
        ("slurm.conf:8: CPUs of node c1: 4, would be 8", "cpus"),
        ("parts:1: MaxTime of partition p: UNLIMITED, would be 01:00:00", "other keys of a partition"),
    }
    assert {
        (str(one), one.cause) for one in found.differences if one.cause not in ("removed by Slurm", "place")
    } == expected
    assert not {"boot_time", "allowaccounts"} & {one.key for one in found.differences}


def test_a_node_that_only_one_of_them_has_is_one_difference(judged_with: Judge) -> None:
    found = judged_with(SHOWN, ("NodeName=c1 CPUTot=4", "NodeName=other CPUTot=8"), ("Nodes=c1", "Nodes=other"))
    nodes = [(one.key, one.of, one.was, one.would) for one in found.differences if one.section == "node"]
    assert nodes == [("nodename", "c1", "c1", ""), ("nodename", "other", "", "other")]


def test_without_a_judge_the_parser_s_differences_stay_and_the_reason_is_there(
    judged_with: Judge, result: Adopted, monkeypatch: pytest.MonkeyPatch, folder: Folder
) -> None:
    refused = judged_with("refused\nfatal: no such plugin\n")
    assert refused.differences == result.differences
    assert refused.why == "slurmctld does not start with the cluster's files: no such plugin"
    assert judged_with(new="refused\nfatal: no such plugin\n").refused == "no such plugin"

    def none(*_: object) -> None:
        raise TestbedError("docker is not installed")

    monkeypatch.setattr(judged, "judge", none)
    absent = by_slurmctld(result, Folder(folder.top), "24.11", lambda _: None)
    assert (absent.differences, absent.version, absent.why) == (result.differences, "", "docker is not installed")
