"""Users in several accounts, groups of partitions and the end of access, on a real slurmctld. Needs docker."""

import os
from collections.abc import Iterator

import pytest
from inventories import INVENTORY, changed
from pace import until

from gpupool.rehearsal.twin import Ask, Job, Refusal, Twin
from gpupool.rehearsal.twin import container as twin_container

PEOPLE = """users:
  - {name: u-robotics2, uid: 20003, account: robotics-lab}
  - {name: u-robotics3, uid: 20004, account: robotics-lab, accounts: [vision-lab], until: 2020-01-31}
  - name: u-vision1"""
GROUPS = '  - name: short\n    nodes: "@compute"\n'


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    """The example's twin, with a user in both labs, and `short` for the group of one of them."""
    cluster = changed(
        INVENTORY / "example",
        tmp_path_factory.mktemp("members"),
        ("users:\n  - name: u-vision1", PEOPLE),
        ("    #accounts: [vision-lab]", "    accounts: [vision-lab]"),
        (GROUPS, f"{GROUPS}    allow_groups: [vision-lab]\n"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPOOL_TWIN_PREFIX", f"{twin_container.prefix()}-{os.getpid()}")
        with Twin.start(cluster) as twin:
            yield twin


@pytest.fixture(autouse=True)
def idle(twin: Twin) -> None:
    twin.clear()


def _until(twin: Twin, states: set[tuple[str, str, str]]) -> list[Job]:
    def now() -> set[tuple[str, str, str]]:
        return {(job.account, job.state, "" if job.state == "RUNNING" else job.reason) for job in twin.jobs()}

    return until(lambda: twin.jobs() if now() == states else None, "the jobs are so", lambda: str(twin.jobs()))


def test_a_limit_of_a_qos_counts_over_all_accounts_of_a_user(twin: Twin) -> None:
    debug = ("--qos=debug", "--time=10", "--partition=debug", "--mem=1G")
    twin.submit([Ask("u-robotics1", ("--gres=gpu:2", *debug))])
    _until(twin, {("robotics-lab", "RUNNING", "")})
    twin.submit([Ask("u-robotics1", ("--gres=gpu:1", "--account=vision-lab", *debug))])
    _until(twin, {("robotics-lab", "RUNNING", ""), ("vision-lab", "PENDING", "QOSMaxGRESPerUser")})


def test_a_labs_cap_applies_to_a_member_with_another_default_account(twin: Twin) -> None:
    cap = twin.cluster.accounts["vision-lab"].limits.group.gpu
    assert cap
    options = ("--gres=gpu:1", "--mem=1G", "--time=10", "--partition=vision-lab", "--account=vision-lab")
    twin.submit([Ask("u-robotics1", (*options, f"--array=1-{cap}"))])
    _until(twin, {("vision-lab", "RUNNING", "")})
    twin.submit([Ask("u-vision1", options)])
    _until(twin, {("vision-lab", "RUNNING", ""), ("vision-lab", "PENDING", "AssocGrpGRES")})


def test_a_partition_for_a_group_admits_members_with_further_accounts_and_no_others(twin: Twin) -> None:
    plain = ("--gres=gpu:1", "--mem=1G", "--time=10", "--partition=short", "--hold")
    answers = twin.submit([Ask(name, plain) for name in ("u-vision1", "u-robotics1", "u-robotics2")])
    assert [isinstance(answer, Refusal) for answer in answers] == [False, False, True]
    assert "group" in str(answers[2])


def test_a_user_without_access_submits_in_no_account(twin: Twin) -> None:
    plain = ("--gres=gpu:1", "--mem=1G", "--time=10", "--hold")
    asks = [Ask("u-robotics3", (*plain, f"--account={name}")) for name in ("robotics-lab", "vision-lab", "overcap")]
    asks[2] = Ask("u-robotics3", (*plain, "--account=overcap", "--partition=overcap"))
    assert all(isinstance(answer, Refusal) for answer in twin.submit(asks))
