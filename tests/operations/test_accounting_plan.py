"""A plan of a cluster that does not exist yet: its two steps at slurmdbd list each change once."""

from typing import Any

from changing import words
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeState

from gpupool.operations import diffs
from gpupool.operations.accounting import entities
from tests.operations.test_operation_cases import AnsweringHost

WANTED = {
    "cluster": "gp",
    "qos": {"short": {"Priority": 7}, "plain": {}},
    "accounts": {"lab": {"GrpTRES": {"gres/gpu": 8}, "coordinators": ["ada"]}, "plain": {}},
    "users": {"ada": {"accounts": {"lab": {}}}},
}


def test_a_first_plan_lists_each_change_once() -> None:
    state = FakeState()
    state.is_executing = False
    host = AnsweringHost(state, "n1", {"accounting.Accounting": ["X|sacctmgr: error: no answer"]}, {})
    shown: list[dict[str, Any]] = []
    with ctx_state.use(state), ctx_host.use(host):
        for limits in (False, True):
            list(entities._inner(wanted=WANTED, limits=limits))
            shown.append(words(diffs.take(host, None)))
    names, rest = shown
    assert names == {
        "slurmdbd": "does not answer (sacctmgr: error: no answer): shown as if it were empty\n",
        "cluster gp": None,
        "QoS short": "added\n",
        "QoS plain": "added\n",
        "account lab": "added below root\n",
        "account plain": "added below root\n",
    }
    assert rest == {
        "QoS short": "Priority: 0 becomes 7\n",
        "account lab": "GrpTRES: none becomes gres/gpu=8\n",
        "user ada in account lab": "added\n",
        "coordinator ada": "of lab\n",
    }


def test_without_slurmdbd_its_entities_only_follow_from_that() -> None:
    state = FakeState()
    state.is_executing = False
    host = AnsweringHost(state, "n1", {"accounting.Accounting": ["X|sacctmgr: error: no answer"]}, {})
    with ctx_state.use(state), ctx_host.use(host):
        changes = []
        for limits in (False, True):
            list(entities._inner(wanted=WANTED, limits=limits))
            changes += diffs.take(host, None)
    own = {change.item for change in changes if not all(aspect.follows for aspect in change.aspects)}
    assert own == {"slurmdbd"}


def test_a_later_plan_reads_slurmdbd_again() -> None:
    state = FakeState()
    state.is_executing = False
    host = AnsweringHost(state, "n1", {"accounting.Accounting": ["X|sacctmgr: error: no answer"]}, {})
    with ctx_state.use(state), ctx_host.use(host):
        for limits in (False, True, True):
            list(entities._inner(wanted=WANTED, limits=limits))
        assert "account plain" in words(diffs.take(host, None))
