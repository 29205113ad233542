"""The network of a new node towards its fileservers is as fast as required, or the node is refused."""

from dataclasses import replace

import pytest
from fake_controller import FakeController

from gpupool.cluster.model import Cluster
from gpupool.errors import UsageError
from gpupool.joining.network import least_of, servers_of, slow
from gpupool.target import Target


@pytest.mark.parametrize(("text", "least"), [(None, None), ("10G", 10_000), ("100M", 100), ("1000M", 1000)])
def test_a_speed_is_read(text: str | None, least: int | None) -> None:
    assert least_of(text) == least


@pytest.mark.parametrize("text", ["10", "G", "0G", "10T", "-1G", "10G "])
def test_an_invalid_speed_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write 10G or 1000M"):
        least_of(text)


def test_a_slow_link_and_an_unreadable_speed_are_named(fake: FakeController, stored: Cluster) -> None:
    fake.target = Target(stored, None, {})
    node = stored.having("compute")[0]
    servers = servers_of(stored, node)
    assert servers
    assert node.name not in servers.values()
    (_address, server), *_ = servers.items()
    stored = replace(stored)
    fake.slurm.nodes.setdefault(node.slurm_name, next(iter(fake.slurm.nodes.values())))
    assert list(slow(fake, [node], 10_000)) == []
    fake.links[node.name] = "eno1 1000"
    assert (
        next(iter(slow(fake, [node], 10_000))) == f"{node.name}: eno1 has 1000 Mbit/s towards {server}, less than 10000"
    )
    assert list(slow(fake, [node], 1000)) == []
    fake.links[node.name] = "bond0 -"
    assert next(iter(slow(fake, [node], 1000))) == f"{node.name}: cannot read the speed of bond0 (towards {server})"


def test_a_node_without_mounts_is_not_checked(fake: FakeController) -> None:
    assert list(slow(fake, fake.target.cluster.having("compute"), 1000)) == []
    assert fake.asked == []
