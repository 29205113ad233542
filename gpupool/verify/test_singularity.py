"""Singularity starts, and users who build images have ranges of subordinate uids and gids."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.containers import singularity_on
from gpupool.compile.system.singularity import builders_for
from gpupool.operations.subordinate import COUNT
from gpupool.verify.scope import only_if

pytestmark = pytest.mark.manages("singularity")


def test_singularity_starts(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(singularity_on(cluster, node))
    done = host.run("timeout 60 singularity --version")
    assert done.rc == 0, done.stderr.strip()


def test_users_who_build_images_have_subordinate_ids(cluster: Cluster, node: Node, host: Host) -> None:
    builders = builders_for(cluster, node)
    only_if(builders)
    for file in ("/etc/subuid", "/etc/subgid"):
        rows = [line.split(":") for line in host.run(f"cat {file}").stdout.splitlines()]
        have = {row[0] for row in rows if len(row) == 3 and row[2].isdigit() and int(row[2]) >= COUNT}
        missing = [name for name in builders if name not in have]
        assert not missing, f"{file} has no range of {', '.join(missing)}"
