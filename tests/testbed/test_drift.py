"""Manual changes to slurmdbd: plan names them, apply undoes them, and running jobs are not affected."""

from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Testbed

DATABASE = "marvin"
KIRA, ESSA = "u-kira1", "u-essa1"


@pytest.fixture
def running(idle: Testbed) -> Iterator[str]:
    """A job of the kira-lab that must survive."""
    number = idle.submit(KIRA, "-p short --gres=gpu:1")
    idle.wait_for(number, "RUNNING")
    yield number
    assert idle.job(number)["JobState"] == "RUNNING"
    assert idle.job(number)["Restarts"] == "0"


def sacctmgr(testbed: Testbed, command: str) -> str:
    """Run sacctmgr as an admin would."""
    return testbed.out(DATABASE, f"sacctmgr -iQ {command}")


def associations(testbed: Testbed, where: str) -> list[str]:
    """Return the accounts of a user's associations."""
    output = testbed.out(DATABASE, f"sacctmgr -nP show assoc where {where} format=Cluster,Account,User")
    return sorted(output.split())


@pytest.mark.promise("SKY-034", "SKY-036")
def test_a_stray_user_and_a_raised_cap_are_named_and_reverted(idle: Testbed, running: str) -> None:
    show = "sacctmgr -nP show assoc where account=kira-lab user= format=GrpTRES,GrpJobs"
    before = idle.out(DATABASE, show)
    sacctmgr(idle, "add user mallory account=kira-lab")
    sacctmgr(idle, "modify account kira-lab set GrpTRES=gres/gpu=99")
    assert idle.plan() == (
        3,
        {DATABASE: ["Account limits | account kira-lab", "Account limits | user mallory in account kira-lab"]},
    )
    done = idle.apply("--limit", DATABASE)
    assert done.returncode == 0, done.stdout
    assert idle.out(DATABASE, show) == before
    assert associations(idle, "user=mallory") == []
    assert idle.plan("--limit", DATABASE) == (0, {})


def test_every_kind_of_stray_is_removed_and_nothing_else_changes(idle: Testbed, running: str) -> None:
    before = idle.out(DATABASE, "sacctmgr -nP show assoc; sacctmgr -nP show qos; sacctmgr -nP show user withcoord")
    for words in (
        "add qos spare GrpJobs=3",
        "add account outer",
        "add account inner parent=outer",
        "add user mallory,trudy account=inner,outer,kira-lab",
        f"add user {ESSA} account=inner",
        f"modify user where name={ESSA} set DefaultAccount=inner",
        "add coordinator account=kira-lab names=mallory",
        f"modify user where name={KIRA} account=kira-lab set MaxJobs=1 QOS+=spare DefaultQOS=spare",
        "modify account where name=hays-lab set parent=outer GrpSubmit=1",
        "modify qos where name=short set MaxSubmitJobsPU=1 Flags=DenyOnLimit",
    ):
        sacctmgr(idle, words)
    status, changes = idle.plan()
    assert status == 3
    assert sorted(changes) == [DATABASE]
    assert {name.partition(" | ")[0] for name in changes[DATABASE]} == {"Account limits"}
    assert f"Account limits | user {KIRA} in account kira-lab" in changes[DATABASE]
    assert "Account limits | QoS spare" in changes[DATABASE]
    done = idle.apply("--limit", DATABASE)
    assert done.returncode == 0, done.stdout
    after = idle.out(DATABASE, "sacctmgr -nP show assoc; sacctmgr -nP show qos; sacctmgr -nP show user withcoord")
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert idle.plan("--limit", DATABASE) == (0, {})


def test_users_with_jobs_are_not_removed_but_named(idle: Testbed, running: str) -> None:
    sacctmgr(idle, f"add user {ESSA} account=kira-lab")
    sacctmgr(idle, "add user mallory account=kira-lab")
    guest = idle.submit(ESSA, "-p short -A kira-lab --gres=gpu:1")
    idle.wait_for(guest, "RUNNING")
    stays = f"user {ESSA} in account kira-lab"
    assert idle.plan() == (
        3,
        {
            DATABASE: [
                # it is closed to new jobs until it can be removed
                f"Account limits | {stays}",
                "Account limits | user mallory in account kira-lab",
                f"Account limits | {stays} cannot be removed yet",
            ]
        },
    )
    done = idle.apply("--limit", DATABASE)
    assert done.returncode == 1
    assert f"{stays} (it has running or pending jobs)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert associations(idle, "user=mallory") == []
    assert idle.job(guest)["JobState"] == "RUNNING"
    idle.out(DATABASE, f"scancel {guest}")
    until(lambda: guest not in idle.out("marvin", "squeue -h -o %A").split(), "the guest's job is gone")
    done = idle.apply("--limit", DATABASE)
    assert done.returncode == 0, done.stdout
    assert idle.plan("--limit", DATABASE) == (0, {})


@pytest.mark.promise("SKY-033", "SKY-041")
def test_a_lab_admin_adds_users_to_their_lab_only(idle: Testbed) -> None:
    lab = idle.cluster.accounts["kira-lab"]
    (admin, *_) = lab.coordinators
    assert "kira-lab" in idle.cluster.users[admin].accounts
    head = next(node.name for node in idle.target.nodes if node.has("head"))
    idle.out(head, f"sacctmgr -i add user {ESSA} account=kira-lab", admin)
    assert f"{idle.cluster.name}|kira-lab|{ESSA}" in associations(idle, f"user={ESSA}")
    assert idle.run(head, f"sacctmgr -i add user {ESSA} account=hays-lab", admin).returncode != 0
    assert f"{idle.cluster.name}|hays-lab|{ESSA}" not in associations(idle, f"user={ESSA}")
    # a user who is not in the inventory is removed by the next apply
    assert idle.plan() == (3, {DATABASE: [f"Account limits | user {ESSA} in account kira-lab"]})
    assert idle.apply("--limit", DATABASE).returncode == 0
    assert idle.plan("--limit", DATABASE) == (0, {})


def test_another_cluster_of_the_same_slurmdbd_is_unchanged(idle: Testbed, running: str) -> None:
    show = "sacctmgr -nP show assoc where cluster=other; sacctmgr -nP show qos"
    try:
        for words in (
            "add cluster other",
            "add qos theirs",
            "add account theirs,kira-lab cluster=other",
            f"add user mallory,{KIRA} account=theirs,kira-lab cluster=other",
            "add coordinator account=theirs names=mallory",
            f"modify user where name={KIRA} cluster=other account=theirs set QOS=theirs DefaultQOS=theirs",
        ):
            sacctmgr(idle, words)
        before = idle.out(DATABASE, show)
        assert idle.plan("--limit", DATABASE) == (0, {})
        sacctmgr(idle, f"add user mallory account=kira-lab cluster={idle.cluster.name}")
        assert idle.plan() == (3, {DATABASE: ["Account limits | user mallory in account kira-lab"]})
        done = idle.apply("--limit", DATABASE)
        assert done.returncode == 0, done.stdout
        assert idle.out(DATABASE, show) == before
        assert idle.plan("--limit", DATABASE) == (0, {})
    finally:
        for words in ("user where name=mallory", "account where name=theirs", "cluster other", "qos theirs"):
            idle.run(DATABASE, f"sacctmgr -iQ delete {words}")
    assert idle.plan("--limit", DATABASE) == (0, {})
