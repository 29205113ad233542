"""The munge key is replaced on all hosts: the others copy the new key, and none changes while slurmctld may run."""

from typing import Any

from origin import ORIGIN
from pyinfra import host
from pyinfra.api import deploy

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import rekey

FIRST, BACKUP = "@fake/control", "@fake/backup"  # pyinfra's names of fake hosts
TEXT = "A" * 1368  # 1024 bytes in base64
UNIT = [f"U\tslurmctld.service\t{line}" for line in ("LoadState=loaded", "ActiveState=active", "InvocationID=abc")]
REFUSALS = ("slurmctld may still run", "cannot read the new munge key", "does not accept munge credentials")


def node(name: str, text: str = TEXT, **failing: str) -> NodeHost:
    """Return a fake host, whose new key is `text`; each command that contains a text of `failing` fails with that."""
    responses: dict[str, Any] = {"sha256sum < /etc/munge": ["a munge munge 400 1024", END], "base64 -w0": [text]}
    responses |= {"systemctl show": [*UNIT, END], "munge -n": ["MUNGE:credential"]}
    # a fake host accepts every command: these are refusals
    for refusal in (*REFUSALS, *failing.values()):
        responses[refusal] = {"success": False, "stderr": refusal}
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": responses}, "fake")


@deploy("Rekey")
def replaced() -> None:
    if host.name in (FIRST, BACKUP):
        rekey.stopped(name="stop")
    rekey.replaced(name="key", controllers=[FIRST, BACKUP])


@deploy("Rekey")
def stored() -> None:
    rekey.stored(name="key", source=None if host.name == FIRST else FIRST)


@deploy("Rekey")
def accepted() -> None:
    rekey.accepted(name="credentials", by=FIRST)


def ran(steps: Any, *hosts: NodeHost, execute: bool = True) -> Report:
    return run([*hosts], steps, execute=execute, origin=ORIGIN if execute else None)


def test_each_host_gets_the_key_after_slurmctld_has_stopped() -> None:
    report = ran(replaced, node("control"), node("backup"), node("n1"))
    assert not report.failures
    assert [change.name for change in report.hosts["backup"].changes] == [
        "stop slurmctld.service",
        "/etc/munge/munge.key",
    ]


def test_no_host_changes_while_a_slurmctld_may_run() -> None:
    backup = node("backup", stop="systemctl stop")
    failures = ran(replaced, node("control"), backup, node("n1")).failures
    assert {*failures} == {"control", "backup", "n1"}
    assert REFUSALS[0] in failures["n1"]


def test_the_others_copy_the_new_key_of_the_first_controller() -> None:
    assert not ran(stored, node("control"), node("n1")).failures
    assert not ran(stored, node("control"), node("n1"), execute=False).failures


def test_a_truncated_key_is_not_stored() -> None:
    assert ran(stored, node("control", text="c2hvcnQ="), node("n1")).failures == {"n1": f"Rekey | key: {REFUSALS[1]}"}


def test_a_host_whose_credentials_are_refused_is_named() -> None:
    assert not ran(accepted, node("control"), node("n1")).failures
    refusing = node("control", judge="unmunge")
    assert ran(accepted, refusing, node("n1")).failures["n1"] == f"Rekey | credentials: {REFUSALS[2]}"
