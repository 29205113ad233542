"""The three faster inner functions give the same results as pyinfra's own."""

import sys
from typing import Any

import pyinfra
import pytest
from pyinfra import host
from pyinfra.api import arguments, deploy
from pyinfra.api.host import HostData
from pyinfra.operations import server

from gpupool.engine import drive, speed
from gpupool.engine.drive import NodeHost, run


@deploy("inner")
def inner() -> None:
    for item in host.loop(range(2)):
        server.shell(name=f"loop {item}", commands=["true"])
    [server.shell(name=f"plain {item}", commands=["true"]) for item in range(2)]


@deploy("outer")
def outer() -> None:
    inner()
    with host.when(lambda: True):
        inner(_sudo=True)
    server.shell(
        name="last",
        commands=["true"],
    )


def test_the_order_is_that_of_pyinfra(monkeypatch: Any) -> None:
    assert pyinfra.__version__.startswith(speed.COMPARED), "compare with the new pyinfra, then add its version"
    stock: Any = sys.modules["pyinfra.api.operation"].get_operation_order_from_stack
    pairs: list[tuple[Any, Any]] = []

    def both(state: Any) -> Any:
        # one frame more than when pyinfra calls it: the last number of each is this function's own line
        pairs.append((stock(state)[:-1], speed.order_from_stack(state)[:-1]))
        return list(pairs[-1][1])

    monkeypatch.setattr(drive, "faster", lambda: monkeypatch.context())
    monkeypatch.setattr(sys.modules["pyinfra.api.operation"], "get_operation_order_from_stack", both)
    assert run([NodeHost("a", (), {"fake_delay": 0}, "fake")], outer, execute=False, origin=None).ok
    assert len(pairs) == 9
    assert [ours for _, ours in pairs] == [theirs for theirs, _ in pairs]
    assert len({tuple(ours) for _, ours in pairs}) == 5


def test_the_data_of_a_host_is_that_of_pyinfra() -> None:
    own = {"_sudo": True, "both": ["own"]}
    data = HostData("a", own, lambda: {"_su_user": "of a group", "both": ["of a group"]})
    for key in ("_sudo", "_su_user", "both"):
        assert speed.data_of_host(data, key) == getattr(data, key)
    speed.data_of_host(data, "both").append("changed")
    assert own["both"] == ["own"]
    with pytest.raises(AttributeError):
        speed.data_of_host(data, "nowhere")


def test_pyinfra_is_restored_afterwards() -> None:
    operation: Any = sys.modules["pyinfra.api.operation"]

    def inner() -> tuple[Any, ...]:
        found: Any = HostData.__getattr__
        return operation.get_operation_order_from_stack, arguments.all_global_arguments, found

    before = inner()
    with speed.faster():
        assert operation.get_operation_order_from_stack is speed.order_from_stack
        assert inner()[2] is speed.data_of_host
        assert arguments.all_global_arguments() == before[1]()
    assert inner() == before
