"""Users who ask slurmctld too often have to wait, and other users do not."""

import pytest
from pace import until

from tests.testbed.cluster import Testbed

HEAD, LOUD, OTHER = "sky1", "u-kira1", "u-hays1"


def has_to_wait(testbed: Testbed, user: str) -> int:
    uid = testbed.cluster.users[user].uid
    log = "cat /var/log/slurm/slurmctld.log*"
    return int(testbed.out("marvin", f"{log} | grep -c 'RPC rate limit exceeded by uid {uid} ' || :"))


@pytest.mark.promise("SKY-163")
def test_a_loop_of_squeue_is_slowed_and_another_users_job_is_not(idle: Testbed) -> None:
    before, others = has_to_wait(idle, LOUD), has_to_wait(idle, OTHER)
    limit = idle.cluster.scheduler.rpc_limit
    assert limit
    # in parallel, as the bucket is refilled meanwhile
    idle.out(HEAD, f"for i in $(seq {2 * limit.bucket}); do squeue >/dev/null & done; wait", LOUD)
    until(lambda: has_to_wait(idle, LOUD) > before, "the controller tells the loud user to wait")
    idle.wait_for(idle.submit(OTHER, "-p debug"), "RUNNING")
    assert has_to_wait(idle, OTHER) == others
