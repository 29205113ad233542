"""`slurm/accounting.cfg` beside an inventory, on a real slurmdbd and slurmctld. Needs docker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from inventories import SMALL, copied

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.operations.accounting import ask_text, difference, normal, read, tres_of
from gpupool.rehearsal.twin import Ask, Twin
from gpupool.rehearsal.twin.accounting import reconcile, short_graces

TEXT = """\
Cluster - 'small':Fairshare=1:MaxSubmitJobs=90
QOS - 'long':MaxWall='1-00:00:00'
Parent - 'root'
Account - 'fish':Fairshare=10
Parent - 'fish'
Account - 'cod':Fairshare=parent:GrpTRES='cpu=8'
User - 'u-kira1':DefaultAccount='fish':AdminLevel='Operator':Coordinator='cod':MaxJobs=3
User - 'u-kira1':Partition='all':QOS='long':DefaultQOS='long'
Parent - 'red'
User - 'ann':Partition='all':QOS='long,normal':DefaultQOS='long':MaxJobs=2
"""
LESS = TEXT.replace("User - 'u-kira1':Partition='all':QOS='long':DefaultQOS='long'\n", "").replace(
    "MaxJobs=3", "MaxJobs=4"
)


def cluster(folder: Path, text: str) -> Cluster:
    """Return the small cluster with this accounting.cfg."""
    copied(SMALL, folder, ("    max_time: 2d", "    max_time: 2d\n    allow_accounts: [red, blue]"))
    (folder / "slurm").mkdir()
    (folder / "slurm" / "accounting.cfg").write_text(text)
    return load(folder)


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(cluster(tmp_path_factory.mktemp("accounting") / "inventory", TEXT)) as twin:
        yield twin


def left_to_do(twin: Twin, cluster: Cluster) -> list[str]:
    """Return the commands of sacctmgr that an apply would run now."""
    wanted = normal(short_graces(entities(cluster)))
    state = read(twin.run(ask_text(wanted["cluster"], 60, tuple(sorted(tres_of(wanted))))).out)
    assert state
    return [step.command() for step in difference(state.entities, wanted)]


def associations(twin: Twin) -> list[str]:
    fields = "Account,User,Partition,MaxJobs,DefaultQOS,GrpTRES"
    return twin.run(f"sacctmgr -nP show associations where account=fish,cod,red format={fields}").out.split()


def test_slurmdbd_has_the_file_and_a_second_apply_does_nothing(twin: Twin) -> None:
    assert set(associations(twin)) >= {
        "fish|u-kira1||3||",
        "fish|u-kira1|all||long|",
        "red|ann|all|2|long|",
        "cod|||||cpu=8",
    }
    assert twin.run("sacctmgr -nP show user where name=u-kira1 format=AdminLevel").out.split() == ["Operator"]
    assert left_to_do(twin, twin.cluster) == []


def test_a_job_has_the_qos_of_its_users_association_of_the_partition(twin: Twin) -> None:
    twin.submit([Ask("ann", ("--partition=all", "--hold")), Ask("ann", ("--partition=red", "--hold"))])
    qos = twin.run("squeue -h -o '%P %q' | sort").out.splitlines()
    twin.run("squeue -h -o %A | xargs -r scancel")
    assert qos == ["all long", "red normal"]


def test_a_line_that_left_the_file_is_removed_and_no_other(twin: Twin, tmp_path: Path) -> None:
    before = set(associations(twin))
    less = cluster(tmp_path / "inventory", LESS)
    reconcile(twin._root, short_graces(entities(less)), limits=True)
    assert set(associations(twin)) ^ before == {"fish|u-kira1||3||", "fish|u-kira1||4||", "fish|u-kira1|all||long|"}
    assert left_to_do(twin, less) == []
