"""Slurm refuses messages of another uid: the user slurm has the uid of the first controller, or a node is refused."""

import pytest
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import deploy

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import slurm_user
from gpupool.wording import changed

SOURCE = "@fake/source"  # pyinfra's name of a fake host
REFUSALS = ("the user slurm has uid", "which slurm has on")


def node(name: str, uid: int | None, *others: str) -> NodeHost:
    own = [] if uid is None else [f"u:slurm:x:{uid}:{uid}::/nonexistent:/usr/sbin/nologin"]
    # a fake host accepts every command: these two are refusals
    responses = {text: {"success": False, "stderr": text} for text in REFUSALS}
    facts = {"getent passwd": [*own, *others, END]}
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": responses | facts}, "fake")


@deploy("Slurm")
def same_user() -> None:
    if host.name != SOURCE:
        slurm_user.refuse_another_number(name="number", source=SOURCE)
        slurm_user.present(name="user", source=SOURCE)


@deploy("Slurm of SchedMD")
def own_user() -> None:
    source = None if host.name == SOURCE else SOURCE
    slurm_user.refuse_another_number(name="number", source=source)
    slurm_user.present(name="user", source=source, packaged=False)


def ran(there: NodeHost, here: NodeHost, execute: bool) -> Report:
    return run([there, here], same_user, execute=execute, refusals_first=execute, origin=ORIGIN)


@pytest.mark.parametrize("execute", [False, True], ids=["plan", "apply"])
@pytest.mark.parametrize(
    ("there", "here", "others"),
    [
        pytest.param(64030, 995, [], id="another than the controller's"),
        pytest.param(991, 64030, [], id="the packages' number, but not the controller's"),
        pytest.param(None, 995, [], id="a controller without Slurm"),
        pytest.param(991, None, ["u:cups:x:991:991::/:/bin/false"], id="the number is taken"),
    ],
)
def test_another_number_is_refused_before_any_change(
    there: int | None, here: int | None, others: list[str], execute: bool
) -> None:
    report = ran(node("source", there), node("n1", here, *others), execute)
    assert list(report.failures) == (["source", "n1"] if execute else ["n1"])
    wanted = there or 64030
    if others:
        assert f"uid {wanted}, which slurm has on @fake/source, belongs to cups here" in report.failures["n1"]
    else:
        assert f"the user slurm has uid {here} here and {wanted} on @fake/source" in report.failures["n1"]
        assert f"`usermod -u {wanted} slurm`" in report.failures["n1"]
    assert not any(each.changes for each in report.hosts.values())


@pytest.mark.parametrize("execute", [False, True], ids=["plan", "apply"])
@pytest.mark.parametrize(
    ("there", "here", "created"),
    [
        pytest.param(64030, 64030, False, id="the same"),
        pytest.param(991, 991, False, id="the same, a site's own"),
        pytest.param(64030, None, False, id="the packages create it"),
        pytest.param(None, None, False, id="a new cluster"),
        pytest.param(None, 64030, False, id="a controller without Slurm, and the packages' number"),
        pytest.param(991, None, True, id="a site's own number, and a new node"),
    ],
)
def test_a_new_node_gets_the_controllers_number(
    there: int | None, here: int | None, created: bool, execute: bool
) -> None:
    report = ran(node("source", there), node("n1", here), execute)
    assert not report.failures
    assert [changed(change) for change in report.hosts["n1"].changes] == (["uid 991\n"] if created else [])


@pytest.mark.parametrize("execute", [False, True], ids=["plan", "apply"])
@pytest.mark.parametrize(
    ("there", "here", "created"),
    [
        pytest.param(None, None, (64030, 64030), id="a new cluster"),
        pytest.param(64030, None, (None, 64030), id="a new node"),
        pytest.param(991, None, (None, 991), id="a site's own number, and a new node"),
        pytest.param(991, 991, (None, None), id="the same, a site's own"),
    ],
)
def test_packages_without_scripts_leave_the_user_to_gpupool(
    there: int | None, here: int | None, created: tuple[int | None, int | None], execute: bool
) -> None:
    """SchedMD's packages create no user: every node gets it, the first controller, too."""
    report = run(
        [node("source", there), node("n1", here)], own_user, execute=execute, refusals_first=execute, origin=ORIGIN
    )
    assert not report.failures
    for name, uid in zip(("source", "n1"), created, strict=True):
        assert [changed(change) for change in report.hosts[name].changes] == ([f"uid {uid}\n"] if uid else [])
