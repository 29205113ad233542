"""Accounts that another system also manages in slurmdbd: only the keys of the inventory are set."""

from datetime import date
from pathlib import Path

from inventories import SMALL, changed
from submitted import Plugin
from typer.testing import CliRunner

from gpupool.cli.app import app
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.sacctmgr import written
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.operations.accounting import normal
from gpupool.operations.accounting.removal import Strays, strays

OPEN = ("contributed_gpus: 6}", "contributed_gpus: 6, exact: false}")
BOTH = ("account: red}", "account: red, accounts: [blue]}")
WHOLE = ("scheduler: {", "slurm: {exact_accounting: false}\nscheduler: {")
NAMED = ("    max_time: 2d\n", "    max_time: 2d\n    allow_accounts: [red]\n    allow_lab_accounts: true\n")


def small(folder: Path, *replaced: tuple[str, str]) -> Cluster:
    return changed(SMALL, folder, *replaced)


def test_the_cap_of_an_account_is_set_and_no_other_limit_is_cleared(tmp_path: Path) -> None:
    accounts = entities(small(tmp_path, OPEN, BOTH))["accounts"]
    assert accounts["blue"] == {"parent": "root", "GrpTRES": {"gres/gpu": 6}, "exact": False}
    assert accounts["red"]["MaxTRES"] == {}


def test_only_the_given_values_of_its_users_are_set(tmp_path: Path) -> None:
    ann = entities(small(tmp_path, OPEN, BOTH))["users"]["ann"]["accounts"]
    assert ann["blue"] == {"qos": ["normal"], "default_qos": "normal"}
    assert ann["red"]["MaxSubmit"] is None


def test_a_user_whose_access_is_prolonged_may_submit_again(tmp_path: Path) -> None:
    until = ("account: red}", "account: red, accounts: [blue], until: 2030-01-31}")
    ann = entities(small(tmp_path, OPEN, until), date(2030, 1, 1))["users"]["ann"]["accounts"]
    assert ann["blue"]["GrpSubmit"] is None


def test_in_a_shared_cluster_no_limit_is_cleared(tmp_path: Path) -> None:
    wanted = entities(small(tmp_path, WHOLE, NAMED))
    assert wanted["exact"] is False
    assert wanted["accounts"]["red"] == {"parent": "root", "GrpTRES": {"gres/gpu": 10}}
    assert wanted["qos"]["normal"] == {"Priority": 0, "Flags": ["DenyOnLimit"]}


def test_in_a_shared_cluster_without_accounts_of_the_inventory_none_is_removed(tmp_path: Path) -> None:
    """As an adopted cluster is whose accounting has not been taken."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=sea\nSlurmctldHost=ctl(10.0.0.2)\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "NodeName=n1 NodeAddr=10.0.0.3 CPUs=2 RealMemory=1000\nPartitionName=all Nodes=n1 Default=YES\n"
    )
    done = CliRunner().invoke(app, ["adopt", "--files", str(tmp_path), str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert "manage: [slurm, accounts]" in (tmp_path / "site/cluster.yml").read_text()
    now = {
        "cluster": ["sea"], "qos": {}, "partitions": [], "jobs": [],
        "accounts": {"red": {"parent": "root", "coordinators": []}},
        "users": {"ann": {"default_account": "red", "accounts": {"red": {}}}},
    }  # fmt: skip
    stays = strays(now, normal(entities(load(tmp_path / "site"))))
    assert stays == Strays({}, {}, {})


def test_entities_of_a_shared_cluster_are_written_without_unset_fields(tmp_path: Path) -> None:
    lead = ("account: red}", "account: red, coordinator: true}")
    text = written(entities(small(tmp_path, WHOLE, NAMED, lead)))
    assert "Account - 'red':GrpTRES='gres/gpu=10'\n" in text
    assert "User - 'ann':DefaultAccount='red':Coordinator='red':" in text


def test_jobs_of_other_systems_accounts_are_accepted(tmp_path: Path) -> None:
    limited = "  few: {everybody: false, default_for: [red], replaces: [normal], limits: {per_user: {gpu: 2}}}"
    qos = ("  normal: {default: true}", "  normal: {default: true}\n" + limited)
    texts = [job_submit_lua(small(tmp_path / name, qos, *more)) or "" for name, *more in (("a",), ("b", WHOLE, NAMED))]
    rules = [Plugin(text).rules for text in texts]
    assert ["accounts" in names for names in rules] == [True, False]
    assert ["replaced" in names for names in rules] == [True, True]
