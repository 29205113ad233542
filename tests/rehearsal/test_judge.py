"""A scratch slurmctld judges what `gpupool adopt` writes, and sees what the parser cannot see. Needs docker."""

from pathlib import Path

import pytest

from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import adopted
from gpupool.adopt.judged import by_slurmctld
from gpupool.rehearsal.judge import ADDRESS, HOST, judge

CONF = """ClusterName=Sea
SlurmctldHost=ctl(10.66.0.1)
SlurmUser=slurm
StateSaveLocation=/srv/slurm/state
SlurmctldLogFile=/var/log/sea/slurmctld.log
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=db
EnforcePartLimits=YES
MessageTimeout=60
GresTypes=gpu
Include nodes.conf
PartitionName=all Nodes=ALL Default=YES MaxTime=2-0
PartitionName=long Nodes=cpu1 DefaultTime=INFINITE
PartitionName=gone Nodes=old[1-4]
"""
NODES = """NodeName=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=515000
NodeName=gpu[1-2] NodeAddr=10.66.1.[1-2] Gres=gpu:a100:4 Feature=a100
NodeName=cpu1 NodeAddr=10.66.1.3 State=IDLE
NodeName=many_[1-3] NodeAddr=10.66.1.4 Port=[7001-7003]
NodeName=part[1-2] NodeHostname=whole NodeAddr=10.66.1.5 Port=[7001-7002]
NodeName=far[1-2] NodeAddr=far[1-2].sea.example
"""


@pytest.mark.usefixtures("apart")
def test_slurmctld_reads_the_cluster_s_files_and_the_inventory_s(tmp_path: Path) -> None:
    """Includes, DEFAULT lines, slurmdbd, host names, DNS names, an empty partition, and a removed key: equal."""
    (tmp_path / "slurm.conf").write_text(CONF, encoding="utf-8")
    (tmp_path / "nodes.conf").write_text(NODES, encoding="utf-8")
    (tmp_path / "cgroup.conf").write_text("ConstrainKmemSpace=no\n", encoding="utf-8")  # 23.11 removed it
    folder = Folder(tmp_path)
    found = by_slurmctld(adopted(folder, "24.11"), folder, "24.11", lambda _: None)
    assert (found.why, found.refused, found.differences) == ("", "", [])
    assert found.version.startswith("24.11.")
    assert found.compared.endswith("10 nodes, 2 partitions")


@pytest.mark.usefixtures("apart")
def test_a_value_that_depends_on_another_key_differs_to_slurmctld_alone_and_a_bad_file_is_refused() -> None:
    """UnkillableStepTimeout follows MessageTimeout (slurm.conf(5)): no line has it."""
    own = f"ClusterName=sea\nSlurmctldHost={HOST}({ADDRESS})\nNodeName=n1\nPartitionName=p Nodes=n1\n"
    now, new = judge("24.11", {"slurm.conf": f"{own}MessageTimeout=60\n"}, {"slurm.conf": own}, ["n1"])
    assert (now.settings["unkillablesteptimeout"], new.settings["unkillablesteptimeout"]) == ("300 sec", "60 sec")
    assert now.nodes["n1"] == new.nodes["n1"]
    now, new = judge("24.11", {"slurm.conf": f"{own}SelectType=select/cons_res\n"}, {"slurm.conf": own}, ["n1"])
    assert "cons_res" in now.refused
    assert not new.refused
