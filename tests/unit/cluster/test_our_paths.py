"""The paths that gpupool writes are known without compiling, so that no file of the site may have them."""

from pathlib import Path

import pytest
from inventories import INVENTORY, cluster_at

from gpupool.cluster.resolve.our_paths import is_ours
from gpupool.compile import files_for
from gpupool.compile.system.names import links

INVENTORIES = sorted(path.parent for path in INVENTORY.glob("*/inventory.py"))


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.name)
def test_every_compiled_file_is_known(inventory: Path) -> None:
    cluster = cluster_at(inventory)
    nodes = {(node.roles, tuple(node.gpus)): node for node in cluster.nodes.values()}
    paths = {file.path for node in nodes.values() for file in files_for(cluster, node)}
    assert {path for path in {*paths, *links(cluster)} if not is_ours(path)} == set()


@pytest.mark.parametrize("path", ["/etc/ssh/sshd_config.d/50-site.conf", "/usr/local/bin/getquota", "/etc/auto.master"])
def test_other_paths_are_free(path: str) -> None:
    assert not is_ours(path)
