"""A cluster has one munge key: its source creates it, the others copy it or keep their own."""

from typing import Any

import pytest
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import deploy

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import munge
from gpupool.wording import changed

SOURCE = "@fake/source"  # pyinfra's name of a fake host
KEY, OTHER = "a" * 64, "b" * 64
TEXT = "A" * 1368  # 1024 bytes in base64


def node(name: str, sha256: str | None, size: int = 1024, text: str = TEXT) -> NodeHost:
    answer = [] if sha256 is None else [f"{sha256} munge munge 400 {size}"]
    responses: dict[str, Any] = {"sha256sum": [*answer, END], "base64 -w0": [text]}
    # a fake host accepts every command: these two are refusals
    for refusal in ("there is no munge key here", "cannot read the munge key"):
        responses[refusal] = {"success": False, "stderr": refusal}
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": responses}, "fake")


@deploy("Munge")
def one_key() -> None:
    munge.key(name="key", source=None if host.name == SOURCE else SOURCE)


def ran(source: NodeHost, other: NodeHost, execute: bool = True) -> Report:
    return run([source, other], one_key, execute=execute, origin=ORIGIN)


@pytest.mark.parametrize("execute", [False, True])
@pytest.mark.parametrize(
    ("there", "here", "copied"),
    [
        pytest.param(node("source", KEY), node("n1", KEY), False, id="the same key"),
        pytest.param(node("source", KEY), node("n1", OTHER), True, id="another key"),
        pytest.param(node("source", KEY), node("n1", None), True, id="no key"),
        pytest.param(node("source", KEY), node("n1", KEY, size=31), True, id="a key that munged refuses"),
        pytest.param(node("source", None), node("n1", KEY), False, id="the source has none yet"),
    ],
)
def test_the_key_is_copied_where_it_differs(there: NodeHost, here: NodeHost, copied: bool, execute: bool) -> None:
    report = ran(there, here, execute)
    assert not report.failures
    diffs = [changed(change) for change in report.hosts["n1"].changes]
    assert diffs == (["copied from @fake/source\n"] if copied else [])


def test_without_a_key_on_either_host_the_run_fails() -> None:
    # the fake source still reports no key
    assert ran(node("source", None), node("n1", None)).failures == {"n1": "Munge | key: there is no munge key here"}


def test_a_truncated_key_is_not_installed() -> None:
    report = ran(node("source", KEY, text="c2hvcnQ="), node("n1", OTHER))
    assert report.failures == {"n1": "Munge | key: cannot read the munge key"}
