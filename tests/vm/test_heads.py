"""The kernel enforces a user's share of a head: on a machine, where control groups share CPUs."""

import shlex
from pathlib import Path

import pytest
from burning import burning, has_controller, taken
from inventories import INVENTORY, changed
from pace import until

from gpupool.compile import files_of
from gpupool.compile.system.sessions import SHARE
from gpupool.operations.service import READ_SHARES
from tests.vm.cluster import Stores


@pytest.mark.promise("SKY-008")
def test_a_user_of_four_cpus_is_limited_to_the_share(stores: Stores, tmp_path: Path) -> None:
    """With the file of a head, installed while the processes burn already."""
    cluster = changed(INVENTORY / "example", tmp_path, ("cpu_per_user: 200%", "cpu_per_user: 50%"))
    (text,) = (file.text for file in files_of(cluster, cluster.nodes["login1"], "sessions") if file.path == SHARE)
    assert has_controller(stores.out, "node01")
    read_again = shlex.join(READ_SHARES)
    with burning(stores.out, "node01", "ann"):
        try:
            folder = SHARE.rpartition("/")[0]
            stores.out("node01", f"mkdir -p {folder} && cat >{SHARE} && {read_again}", text=text)
            until(lambda: taken(stores.out, "node01", "ann").throttled, "the kernel makes the user wait")
            # slightly above the share: the kernel counts in slices of time
            assert taken(stores.out, "node01", "ann").cpus < 0.5 * 1.2
        finally:
            stores.out("node01", f"rm -f {SHARE} && {read_again}")
