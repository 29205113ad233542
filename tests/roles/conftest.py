"""Empty nodes for every test in this folder."""

import empty_nodes
import pytest

from gpupool.engine import hosts


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "PoolSSH", empty_nodes.EmptyNode)
    empty_nodes.RECEIVED.clear()
    empty_nodes.BROKEN.clear()
    empty_nodes.QUEUE.clear()
    empty_nodes.KEYS.clear()
    empty_nodes.SYSTEM.clear()
    empty_nodes.KNOWN.clear()
