"""`slurm/accounting.cfg`: accounts, users and QoS in sacctmgr's notation, beside those of the inventory."""

from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written
from gpupool.operations.accounting import normal
from gpupool.slurm.dumps import read

OPEN_TO_ALL = ("    max_time: 2d\n", "    max_time: 2d\n    allow_accounts: [red]\n    allow_lab_accounts: true\n")
LOOSE = ("scheduler: {", "slurm: {exact_accounting: false}\nscheduler: {")
DUMP = """\
Cluster - 'small':Fairshare=1:GrpTRES=cpu=100:QOS='normal'
QOS - 'long':Priority=5:MaxWall='7-00:00:00'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
User - 'u-admin':AdminLevel='Administrator'
Account - 'fish':Description='fish':Organization='bay':Fairshare=7:QOS='long,normal'
Parent - 'fish'
Account - 'cod':Fairshare=2147483647:DefaultQOS='long'
User - 'u-kira1':DefaultAccount='fish':Fairshare=1:MaxJobs=3
User - 'u-kira1':Partition='red':DefaultAccount='fish':Fairshare=1:QOS='long':DefaultQOS='long'
Parent - 'cod'
User - 'u-kira1':DefaultAccount='fish':Coordinator='cod':AdminLevel='Operator':Fairshare=1
User - 'u-tomo2':Partition='all':Fairshare=1
Parent - 'red'
User - 'u-tomo2':Fairshare=4
"""


def with_file(folder: Path, text: str, *replaced: tuple[str, str]) -> Cluster:
    (folder / "slurm").mkdir(parents=True)
    (folder / "slurm" / "accounting.cfg").write_text(text)
    return changed(SMALL, folder, OPEN_TO_ALL, *replaced)


def test_the_file_is_wanted_with_the_words(tmp_path: Path) -> None:
    wanted = entities(with_file(tmp_path, DUMP))
    assert wanted["root"] == {"Fairshare": 1, "GrpTRES": {"cpu": 100}, "QOS": ["normal"]}
    assert wanted["qos"]["long"] == {"Priority": 5, "MaxWall": 10080}
    assert wanted["accounts"]["fish"] == {"parent": "root", "Fairshare": 7, "QOS": ["long", "normal"]}
    cod = {"parent": "fish", "Fairshare": "parent", "DefaultQOS": "long", "coordinators": ["u-kira1"]}
    assert wanted["accounts"]["cod"] == cod
    assert wanted["accounts"]["red"]["GrpTRES"]["gres/gpu"] == 10
    assert wanted["users"]["u-admin"]["accounts"].keys() == {"root"}
    assert wanted["users"]["u-kira1"] == {
        "default_account": "fish",
        "AdminLevel": "Operator",
        "accounts": {"fish": {"Fairshare": 1, "MaxJobs": 3}, "cod": {"Fairshare": 1}},
        "partitions": {"fish": {"red": {"Fairshare": 1, "QOS": ["long"], "DefaultQOS": "long"}}},
    }
    assert wanted["users"]["u-tomo2"]["default_account"] == "red"
    assert normal(wanted)["users"]["u-tomo2"]["partitions"]["cod"].keys() == {"all"}


def test_what_render_writes_is_read_back_with_partitions_and_the_cluster(tmp_path: Path) -> None:
    wanted = entities(with_file(tmp_path / "one", DUMP))
    entries, troubles = read(written(wanted))
    assert not troubles
    assert {(entry.kind, entry.name, entry.parent, entry.fields.get("Partition")) for entry in entries} >= {
        ("cluster", "small", "", None),
        ("user", "u-kira1", "fish", "red"),
        ("user", "u-kira1", "cod", None),
    }
    again = entities(with_file(tmp_path / "two", written(wanted)))
    assert normal(again) == normal(wanted)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Cluster - 'other'", "the cluster of this inventory is small"),
        ("Account - 'red':GrpTRES='gres/gpu=11'", "GrpTRES is gres/gpu=11 here, and gres/gpu=10 in the inventory"),
        ("Account - 'fish':DefaultQOS='lang'", "there is no QoS lang"),
        ("Parent - 'fisch'\nUser - 'u-kira1'", "there is no account fisch"),
        ("Account - 'fish'\nAccount - 'fish'", "account fish has two lines"),
        ("Account - 'Fish'", "'Fish' is not in lower case"),
        ("Parent - 'a'\nAccount - 'b'\nParent - 'b'\nAccount - 'a'", "account a is below itself"),
        ("Parent - 'red'\nUser - 'ann':DefaultAccount='blue'", "DefaultAccount is blue here, and red in the inventory"),
        ("Parent - 'red'\nUser - 'ann':QOS='long'\nQOS - 'long'", "QOS is long here, and normal in the inventory"),
        ("QOS - 'normal':Flags='NoDecay'", "Flags is NoDecay here, and DenyOnLimit in the inventory"),
        ("Parent - 'red'\nUser - 'u-kira1':DefaultAccount='blue'", "user u-kira1 is not in the account blue"),
    ],
)
def test_a_file_that_does_not_agree_is_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    cluster = with_file(tmp_path, f"{line}\n")
    with pytest.raises(BadInventoryError) as refused:
        entities(cluster)
    assert message in str(refused.value)
    assert all(located.place.file == "slurm/accounting.cfg" for located in refused.value.located)


def test_what_both_say_alike_is_accepted(tmp_path: Path) -> None:
    plain = entities(with_file(tmp_path / "plain", "# nothing\n"))
    text = "Account - 'red':GrpTRES='gres/gpu=10'\nParent - 'red'\nUser - 'ann':DefaultAccount='red':QOS='normal'\n"
    assert entities(with_file(tmp_path / "same", text)) == plain


def test_slurmdbd_may_have_other_qos_and_accounts_where_gpupool_removes_none(tmp_path: Path) -> None:
    wanted = entities(with_file(tmp_path, "Parent - 'fish'\nUser - 'u-kira1':QOS='long'\n", LOOSE))
    assert normal(wanted)["users"]["u-kira1"]["accounts"] == {"fish": {"QOS": ["long"]}}


def test_a_wrong_line_is_an_error_of_check(tmp_path: Path) -> None:
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm" / "accounting.cfg").write_text("Account - 'fish'\nAccount - 'cod':Fairshare=many\n")
    changed(SMALL, tmp_path / "other")
    (tmp_path / "inventory.yml").write_text((tmp_path / "other" / "inventory.yml").read_text())
    [error] = [each for each in examine(tmp_path).errors if each.place.file.endswith("accounting.cfg")]
    assert error.place.line == 2
    assert "not a valid value" in error.complaint.message
