"""The users' commands on a head: gpu_usage shows the same as squeue, and asks the controller once for all users."""

import json
import re
from collections import Counter

import pytest
from pace import until

from tests.testbed.cluster import Testbed

HEAD = "sky1"
KIRA, HAYS = "u-kira1", "u-hays1"


def asked_by_hand(testbed: Testbed, states: str) -> Counter[str]:
    """Return GPUs by account in jobs in some states, from squeue's columns."""
    lines = testbed.out(
        "marvin", f"squeue -h -r -t {states} -O account:40,tres-alloc:200,tres-per-node:100"
    ).splitlines()
    counts: Counter[str] = Counter()
    for line in lines:
        account, *rest = line.split()
        found = re.search(r"gres/gpu=(\d+)|gpu(?::[a-z0-9_]+)?:(\d+)", " ".join(rest))
        assert found, line
        counts[account] += int(found[1] or found[2])
    return counts


@pytest.mark.promise("SKY-113", "SKY-114", "SKY-115")
def test_gpu_usage_agrees_with_squeue(idle: Testbed) -> None:
    for user, options in ((KIRA, "-p short --gres=gpu:2"), (HAYS, "-p overcap -A overcap --gres=gpu:1")):
        idle.wait_for(idle.submit(user, options), "RUNNING")
    idle.submit(KIRA, "-H -p short --gres=gpu:3")
    running, pending = asked_by_hand(idle, "R"), asked_by_hand(idle, "PD")
    assert (sum(running.values()), sum(pending.values())) == (3, 3)

    def labs() -> dict[str, dict[str, int]]:
        document = json.loads(idle.out(HEAD, "gpu_usage -l --json", KIRA))
        return {row["name"]: row for row in document["rows"]}

    until(
        lambda: labs()["kira-lab"]["pending"] == 3,
        "the answer of some seconds ago is no longer good",
        lambda: str(labs()),
    )
    rows = labs()
    assert rows["kira-lab"]["running"] == running["kira-lab"] == 2
    assert rows["kira-lab"]["pending"] == pending["kira-lab"]
    cap = idle.out("marvin", "sacctmgr -nP show assoc where account=kira-lab user= format=grptres")
    assert f"gres/gpu={rows['kira-lab']['cap']}" in cap.split(",")
    # borrowed GPUs are shown with the lab of their user, and do not count against its cap
    assert (rows["hays-lab"]["running"], rows["hays-lab"]["overcap"]) == (1, 1)
    assert rows["hays-lab"]["left"] == rows["hays-lab"]["cap"]
    users = idle.out(HEAD, "gpu_usage -u", HAYS)
    assert set(re.findall(r"\bu-\w+", users)) == {HAYS, KIRA}
    of_lab = idle.out(HEAD, "gpu_usage -u -p kira-lab", HAYS)
    assert KIRA in of_lab
    assert HAYS not in of_lab


def test_many_users_cost_the_controller_a_few_queries(idle: Testbed) -> None:
    def questions(user: str) -> int:
        by_user = idle.out("marvin", "sdiag").partition("statistics by user")[2].partition("Pending")[0]
        return sum(int(count) for name, count in re.findall(r"(\S+) +\( *\d+\) count:(\d+)", by_user) if name == user)

    first = questions("daemon")
    until(
        lambda: idle.out(HEAD, "gpu_usage -l", KIRA) and questions("daemon") > first,
        "squeue is asked when the answer is old",
    )
    before = questions(KIRA), questions("daemon")
    idle.out(HEAD, "for i in $(seq 40); do gpu_usage -l >/dev/null & done; wait", KIRA)
    assert questions(KIRA) == before[0]
    assert questions("daemon") - before[1] < 40
    # no user can write the file that all read
    assert idle.run(HEAD, "echo lies > /run/gpupool-queue/queue.json", KIRA).returncode != 0


@pytest.mark.promise("SKY-046")
def test_an_editor_on_a_head_has_no_gpu_and_its_launcher_starts_a_job_with_one(idle: Testbed) -> None:
    """VSCode starts ssh with the launcher as ProxyCommand, and runs its server through it."""
    seen = "echo at=$(hostname -s) job=$SLURM_JOB_ID gpus=$CUDA_VISIBLE_DEVICES"
    assert idle.out(HEAD, seen, KIRA).split() == [f"at={HEAD}", "job=", "gpus="]
    idle.out(HEAD, "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/editor && cp ~/.ssh/authorized_keys ~/.ssh/kept", KIRA)
    ssh = (
        "ssh -F none -i ~/.ssh/editor -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new"
        " -o UserKnownHostsFile=~/.ssh/editor.hosts -o ProxyCommand='vscode-launch.sh -p short --gpus=1' job"
    )
    try:
        refused = idle.run(HEAD, f"{ssh} true", KIRA)
        assert refused.returncode, "a key that is not authorized"
        idle.out(HEAD, "cat ~/.ssh/editor.pub >> ~/.ssh/authorized_keys", KIRA)
        values = dict(word.split("=") for word in idle.out(HEAD, f"{ssh} '{seen}'", KIRA).split())
    finally:
        idle.out(HEAD, "mv ~/.ssh/kept ~/.ssh/authorized_keys; rm -f ~/.ssh/editor* ~/.ssh/gpupool-vscode*", KIRA)
    assert re.fullmatch(r"\d+", values["gpus"]), values
    ended = idle.wait_for(values["job"], "COMPLETED")
    assert (ended["NodeList"], ended["Account"]) == (values["at"], "kira-lab")
    assert "gres/gpu=1" in ended["AllocTRES"].split(",")
