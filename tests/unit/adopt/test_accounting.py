"""A dump of sacctmgr beside a cluster's files becomes `slurm/accounting.cfg` of the inventory."""

from pathlib import Path

import pytest

from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted, adopted, write
from gpupool.cluster.load import load
from gpupool.compile.slurm.accounting import entities
from gpupool.operations.accounting import normal

CONF = """ClusterName=Sea_1
SlurmctldHost=ctl(10.1.0.1)
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=db
NodeName=c[1-2] NodeAddr=10.1.1.[1-2] CPUs=4 RealMemory=32000
PartitionName=all Nodes=ALL Default=YES MaxTime=2-0 AllowAccounts=cod,fish
PartitionName=big Nodes=ALL MaxTime=2-0
"""
# As sacctmgr of Slurm 24.11.5 writes it.
DUMP = """\
# To edit this file start with a cluster line for the new cluster
# Cluster - 'cluster_name':MaxTRESPerJob=node=50
Cluster - 'sea_1':DefaultQOS='normal':Fairshare=1:GrpTRES=cpu=100:MaxWallDurationPerJob=10:QOS='long,normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'fish':Description='of the sea: fish':Organization='bay':Fairshare=1
Parent - 'fish'
Account - 'cod':Description='cod':Organization='bay':Fairshare=2147483647:GrpTRES=cpu=4,gres/gpu:a100=2
User - 'u-kira1':DefaultAccount='fish':Fairshare=1:GrpJobs=7:MaxJobs=2:QOS='long'
User - 'u-kira1':Partition='big':DefaultAccount='fish':DefaultQOS='long':Fairshare=1:QOS='long':WCKeys='a'
User - 'u-tomo2':Partition='gone':DefaultAccount='fish':Fairshare=1:MaxJobs=3
Parent - 'cod'
User - 'u-kira1':Partition='all':DefaultAccount='fish':Fairshare=2147483647:MaxJobs=3
"""


def of(top: Path, dump: str = DUMP, name: str = "accounting.cfg") -> Adopted:
    top.mkdir(exist_ok=True)
    (top / "slurm.conf").write_text(CONF)
    (top / name).write_text(dump)
    return adopted(Folder(top), "24.11")


@pytest.mark.parametrize("name", ["accounting.cfg", "sea_1.cfg"])
def test_slurmdbd_would_stay_as_the_dump_says(tmp_path: Path, name: str) -> None:
    result = of(tmp_path / "etc", name=name)
    assert name in result.read
    assert result.accounting
    assert result.accounting.differ == []
    write(tmp_path / "site", result.files)
    wanted = normal(entities(load(tmp_path / "site")))
    assert (wanted["cluster"], wanted["exact"]) == ("sea_1", False)
    assert wanted["accounts"]["cod"]["parent"] == "fish"
    assert wanted["accounts"]["cod"]["GrpTRES"] == {"cpu": 4, "gres/gpu:a100": 2}
    assert wanted["root"]["MaxWall"] == 10
    assert wanted["users"]["u-kira1"]["partitions"]["cod"]["all"]["Fairshare"] == "parent"
    assert "root" not in wanted["users"]


def test_what_stays_in_slurmdbd_alone_is_named(tmp_path: Path) -> None:
    result = of(tmp_path / "etc")
    assert [str(trouble) for trouble in result.troubles if "WCKeys" in str(trouble)]
    assert not [str(trouble) for trouble in result.troubles if "Description" in str(trouble)]


def test_a_wrong_line_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    wrong = "User - 'U-Upper':Fairshare=1\nUser - 'u-tomo2':Fairshare=x\nUser - 'u-kira1':Partition='all'\n"
    result = of(tmp_path / "etc", DUMP + wrong)
    lines = {trouble.place.line for trouble in result.troubles if trouble.place.file == "accounting.cfg"}
    end = DUMP.count("\n")
    assert {end + 1, end + 2, end + 3} <= lines
    assert "u-upper" not in result.files["slurm/accounting.cfg"].lower()
    assert result.accounting
    assert result.accounting.differ == []


def test_without_a_dump_there_is_no_file(tmp_path: Path) -> None:
    result = of(tmp_path / "etc", "not a dump\n", name="other.cfg")
    assert "slurm/accounting.cfg" not in result.files
    assert result.accounting is None
    assert "other.cfg" in result.others
