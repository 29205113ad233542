"""A timer fetches the images of the inventory."""

from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.system.images import TIMER, images_for


def test_images_are_fetched_by_a_timer(cluster: Cluster, node: Node, host: Host) -> None:
    if images_for(cluster, node):
        timer = TIMER.rpartition("/")[2]
        assert host.run(f"systemctl is-active {timer}").stdout.strip() == "active", f"{timer} is not active"
