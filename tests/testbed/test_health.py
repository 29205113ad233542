"""A node that finds a fault in itself gets no new jobs until it is repaired; an admin's drain stays."""

from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed

NODE, OTHER = "clippy", "a40-01"
MOUNT = "coc-pskynet3.mount"
REASON = "gpupool: health: /coc/pskynet3 is not mounted"


@pytest.fixture
def checked(changed: Changed) -> Iterator[Testbed]:
    """Yield SkyNet with nodes that check their mounts continuously."""
    old = "  state: /var/spool/slurm-state/skynet\n"
    testbed = changed(
        "partitions.yml", old, f"{old}  health: {{interval: 2s, checks: [mounts, disk], disk_free: 1M}}\n"
    )
    done = testbed.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    yield testbed
    testbed.out(NODE, f"systemctl start {MOUNT}")
    if "DRAIN" in node(testbed)[0]:
        testbed.run("marvin", f"scontrol update nodename={NODE} state=resume")


def node(testbed: Testbed, name: str = NODE) -> tuple[set[str], str]:
    """Return a node's state, and its reason without the user who set it."""
    text = testbed.out("marvin", f"scontrol show node {name}")
    state = next(word.split("=")[1] for word in text.split() if word.startswith("State="))
    reason = next((line for line in text.splitlines() if line.strip().startswith("Reason=")), "")
    return set(state.split("+")), reason.strip().removeprefix("Reason=").partition(" [")[0]


def test_a_missing_mount_drains_its_node_until_it_is_back(checked: Testbed) -> None:
    until(lambda: checked.run(NODE, "test -e /run/gpupool/health/fine").returncode == 0, "a first look found nothing")
    job = checked.submit("u-kira1", f"-w {NODE} -p short")
    checked.wait_for(job, "RUNNING")
    checked.out(NODE, f"systemctl stop {MOUNT}")
    until(lambda: "DRAIN" in node(checked)[0], "it is drained", lambda: str(node(checked)))
    assert node(checked)[1] == REASON
    assert "DRAIN" not in node(checked, OTHER)[0]
    assert checked.job(job)["JobState"] == "RUNNING", "what runs goes on"
    checked.out(NODE, f"systemctl start {MOUNT}")
    until(lambda: "DRAIN" not in node(checked)[0], "it is resumed", lambda: str(node(checked)))
    assert checked.job(job)["JobState"] == "RUNNING"


def test_an_admins_drain_is_kept(checked: Testbed) -> None:
    fine = "test -e /run/gpupool/health/fine"
    until(lambda: checked.run(NODE, fine).returncode == 0, "a first look found nothing")
    checked.out("marvin", f"scontrol update nodename={NODE} state=drain reason='disk is replaced'")
    checked.out(NODE, f"systemctl stop {MOUNT}")
    until(lambda: checked.run(NODE, fine).returncode != 0, "a look found the missing mount")
    checked.out(NODE, f"systemctl start {MOUNT}")
    until(lambda: checked.run(NODE, fine).returncode == 0, "a look found nothing any more")
    flags, reason = node(checked)
    assert "DRAIN" in flags
    assert reason == "disk is replaced"
