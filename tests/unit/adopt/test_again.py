"""Files that gpupool renders of an adopted inventory are adopted again: the new inventory renders the same files."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted, adopted
from gpupool.compile import files_of

PLAIN = "ClusterName=a\nSlurmctldHost=c(10.1.0.9)\nNodeName=n[1-9] CPUs=8 RealMemory=900\nPartitionName=p Nodes=ALL\n"
GPUS = """ClusterName=sea
SlurmctldHost=ctl(10.1.0.1)
SlurmUser=slurm
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
GresTypes=gpu
ProctrackType=proctrack/linuxproc
PriorityWeightAge=10
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000
NodeName=g[1-2] NodeAddr=10.1.1.[1-2] Gres=gpu:a100:4 Feature=fast,a100
NodeName=c1 NodeAddr=10.1.1.3 Gres=gpu:2 Weight=5
NodeName=d_[1-3] NodeAddr=10.1.1.4 RealMemory=900
PartitionName=all Nodes=ALL Default=YES MaxTime=2-0 AllowAccounts=bio,chem
PartitionName=quick Nodes=g[1-2] MaxTime=60 MaxNodes=2 LLN=YES Priority=50
"""
THREADS = """ClusterName=a
SlurmctldHost=n1
SelectTypeParameters=CR_CPU_Memory
EnforcePartLimits=NO
DefMemPerCPU=100
NodeName=n1 CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=9000
PartitionName=p Nodes=n1 PriorityJobFactor=7 DefMemPerCPU=50
"""


def rendered(result: Adopted) -> Mapping[str, str]:
    """Return Slurm's files of an adopted inventory by name."""
    cluster = result.loaded.cluster
    assert cluster, result.loaded.errors
    files = files_of(cluster, cluster.controllers[0], "slurm")
    return {file.path.rpartition("/")[2]: file.text for file in files if file.path.startswith("/etc/slurm/")}


@pytest.mark.parametrize("conf", [PLAIN, GPUS, THREADS], ids=["plain", "gpus", "threads"])
def test_an_inventory_adopted_from_its_own_files_renders_the_same_files(conf: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(conf, encoding="utf-8")
    first = adopted(Folder(tmp_path), "24.11")
    own = tmp_path / "own"
    own.mkdir()
    for name, text in rendered(first).items():
        (own / name).write_text(text, encoding="utf-8")
    again = adopted(Folder(own), "24.11")
    assert again.differences == []
    assert rendered(again) == rendered(first)
