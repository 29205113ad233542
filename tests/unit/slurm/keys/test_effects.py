"""Differences between two texts of Slurm's files, and what makes them take effect."""

import pytest

from gpupool.slurm.keys.effects import at_start, changed, effect, joined
from gpupool.slurm.keys.tables import keys, rows
from gpupool.slurm.releases import TESTED, within

OLD = """# a comment
ClusterName=c
SlurmdPort=6818
SchedulerParameters=bf_continue,bf_interval=2
NodeName=gpu-[1-2] NodeAddr=10.0.0.[1-2] CPUs=4 RealMemory=100
PartitionName=all Nodes=gpu-[1-2] MaxTime=10
"""


def effects_of(old: str, new: str, version: str = "24.11", text: str = OLD, file: str = "slurm.conf") -> dict[str, str]:
    assert old in text
    return {str(place): effect for place, effect in changed(file, text, text.replace(old, new), version).items()}


@pytest.mark.parametrize("version", TESTED)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ("ClusterName=c", "clustername = c   # named so"),
        ("PartitionName=all Nodes=gpu-[1-2] MaxTime=10", "PartitionName=all MaxTime=10 \\\n Nodes=gpu-[1-2]"),
        (
            "NodeName=gpu-[1-2] NodeAddr=10.0.0.[1-2] CPUs=4 RealMemory=100",
            "NodeName=gpu-2 NodeAddr=10.0.0.2 CPUs=4 RealMemory=100\n"
            "NodeName=gpu-1 NodeAddr=10.0.0.1 CPUs=4 RealMemory=100",
        ),
    ],
)
def test_comments_blanks_order_and_folding_have_no_effect(old: str, new: str, version: str) -> None:
    assert effects_of(old, new, version) == {}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("MaxTime=10", "MaxTime=20", {"MaxTime of partition all": ("reconfigure", "reconfigure")}),
        ("bf_interval=2", "bf_interval=3", {"SchedulerParameters": ("reconfigure", "reconfigure")}),
        ("bf_continue", "no_backup_scheduling", {"SchedulerParameters": ("slurmctld", "reconfigure")}),
        ("SlurmdPort=6818", "SlurmdPort=6819", {"SlurmdPort": ("slurmctld slurmd", "slurmd")}),
        ("ClusterName=c", "ClusterName=c\nMaxJobCount=7", {"MaxJobCount": ("slurmctld", "reconfigure")}),
        ("RealMemory=100", "RealMemory=90", {
            "RealMemory of node gpu-1": ("slurmctld slurmd", "reconfigure"),
            "RealMemory of node gpu-2": ("slurmctld slurmd", "reconfigure"),
        }),
        (
            "[1-2] NodeAddr=10.0.0.[1-2]",
            "[1-3] NodeAddr=10.0.0.[1-3]",
            {"node gpu-3": ("slurmctld slurmd", "reconfigure")},
        ),
        ("[1-2] NodeAddr=10.0.0.[1-2]", "1 NodeAddr=10.0.0.1", {"node gpu-2": ("slurmctld slurmd", "reconfigure")}),
    ],
)  # fmt: skip
def test_a_changed_key_is_named_with_its_effect(old: str, new: str, expected: dict[str, tuple[str, str]]) -> None:
    assert effects_of(old, new, "22.05") == {name: both[0] for name, both in expected.items()}
    assert (
        effects_of(old, new, "24.11")
        == effects_of(old, new, "26.05")
        == {name: both[1] for name, both in expected.items()}
    )


def test_keys_of_other_files_have_their_effects() -> None:
    assert effects_of("a", "b", text="a", file="job_submit.lua") == {"its text": "nothing"}
    assert effects_of("Debug", "LogFile=/x\nDebug", text="DebugLevel=info", file="slurmdbd.conf") == {
        "LogFile": "reload"
    }
    assert effects_of("6819", "6820", text="DbdPort=6819", file="slurmdbd.conf") == {"DbdPort": "slurmdbd"}
    gres = "NodeName=gpu-1 Name=gpu File=/dev/nvidia0"
    assert set(effects_of("0", "1", text=gres, file="gres.conf").values()) == {"reconfigure"}
    assert set(effects_of("0", "1", "22.05", gres, "gres.conf").values()) == {"slurmctld slurmd"}
    assert effect("acct_gather.conf", "global", "Any", "24.11") == "slurmctld"


def test_several_effects_are_combined() -> None:
    assert joined([]) == "nothing"
    assert joined(["nothing", "reload"]) == "reload"
    assert joined(["reconfigure", "slurmd", "slurmctld slurmd"]) == "slurmctld slurmd"


def test_slurmd_restarts_for_keys_that_it_reads_only_at_its_start() -> None:
    assert {str(place) for place in at_start("slurm.conf", OLD, "24.11", "slurmd")} == {"SlurmdPort"}
    assert "CPUs of node gpu-2" in {str(place) for place in at_start("slurm.conf", OLD, "22.05", "slurmd")}


@pytest.mark.parametrize("version", TESTED)
def test_each_row_has_a_key_that_slurm_knows_and_a_source(version: str) -> None:
    tables = {
        ("slurm.conf", "global"): "slurm_conf",
        ("slurm.conf", "node"): "node",
        ("slurm.conf", "partition"): "partition",
        ("slurmdbd.conf", "global"): "slurmdbd",
        ("cgroup.conf", "global"): "cgroup",
    }
    for file, section, key, _, since, before, source in rows("effects"):
        assert source
        table = tables.get((file, section))
        if table and key != "*" and within(version, since, before):
            assert keys(table).get(key.partition(":")[0].lower()), f"{file}: {key}"
