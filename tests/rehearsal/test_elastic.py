"""Preemption of a job whose node still boots, on a real slurmctld with a node that is powered up on demand.

Nodes of a twin are always on: the test gives one of them a power state, and starts its slurmd some seconds after
slurmctld has asked for it.
"""

import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from arbiters import restart_arbiter
from pace import until

from gpupool.cluster.load import load
from gpupool.compile.slurm import arbiter
from gpupool.rehearsal.twin import Twin

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"
CONF = "/etc/slurm/slurm.conf"
NODE, OTHER = "rtx-01", "rtx-02"
GRACE, BOOT, BOUND = 20, 6, 15  # seconds
POWER = """
ResumeProgram=/usr/local/bin/power-up
SuspendProgram=/bin/true
ResumeTimeout=300
SuspendTimeout=1
SuspendTime=3600
"""
# slurmctld runs ResumeProgram as its own user, who cannot start a slurmd
POWERED_DOWN = rf"""
printf '#!/bin/sh\ntouch /tmp/power-up\n' > /usr/local/bin/power-up
chmod 755 /usr/local/bin/power-up
kill $(cat /run/slurmd-{NODE}.pid)
scontrol reconfigure
scontrol update nodename={NODE} state=power_down_force
(until [ -e /tmp/power-up ]; do sleep 0.2; done; sleep {BOOT}; slurmd -b -N {NODE}) </dev/null >/dev/null 2>&1 &
"""


def _elastic(conf: str) -> str:
    """Return slurm.conf with a longer grace time, and with a node that is off until a job needs it."""
    conf = re.sub(
        r"\bGraceTime=\d+", f"GraceTime={GRACE}", re.sub(r"^ResumeTimeout=.*\n", "", conf, flags=re.MULTILINE)
    )
    kind = re.search(
        r"^NodeName=rtx-\[01-02\] NodeAddr=\S+ (.*) State=UNKNOWN (.*)Port=\[(\d+)-(\d+)\]$", conf, re.MULTILINE
    )
    assert kind
    nodes = [
        f"NodeName={name} NodeAddr=10.71.11.{number} {kind[1]} State={state} {kind[2]}Port={port}"
        for number, (name, state, port) in enumerate([(NODE, "CLOUD", kind[3]), (OTHER, "UNKNOWN", kind[4])], 1)
    ]
    return conf.replace(kind[0], "\n".join(nodes)) + POWER


@pytest.fixture(scope="module")
def twin(apart: None) -> Iterator[Twin]:
    """A twin of the example inventory with a node that is off."""
    with Twin.start(load(EXAMPLE)) as twin:
        settings = json.loads(twin.run(f"cat {arbiter.SETTINGS}").out)
        restart_arbiter(twin, {**settings, "grace": dict.fromkeys(settings["grace"], GRACE)})
        conf = _elastic(twin.run(f"cat {CONF}").out)
        twin.do(f"printf %s {shlex.quote(conf)} > {CONF}\n{POWERED_DOWN}", "the elastic node")
        until(lambda: twin.run(f"sinfo -h -n {NODE} -p short -o %t").out.strip() == "idle~", "the node is off")
        yield twin


def _submit(twin: Twin, user: str, options: str) -> str:
    done = twin.run(f"cd /tmp; sbatch --parsable -w {NODE} --gpus=2 -o /dev/null {options} --wrap 'sleep 900'", user)
    assert done.out.strip().isdecimal(), done.err
    return done.out.strip()


def _state(twin: Twin, job: str) -> str:
    return twin.run(f"squeue -h -j {job} -o %T").out.strip()


def test_an_owner_gets_a_node_that_boots_for_a_preempted_job(twin: Twin) -> None:
    """Slurm preempts the guest while its node boots, and forgets the end of its grace time when the node is up."""
    guest = _submit(twin, "u-robotics1", "-A overcap -p overcap -t 60")
    until(lambda: _state(twin, guest) == "CONFIGURING", "the node boots")
    asked = time.monotonic()
    owner = _submit(twin, "u-vision1", "-p short -t 5")
    until(lambda: _state(twin, guest) == "RUNNING", "the node has booted")
    until(
        lambda: _state(twin, owner) == "RUNNING",
        "the owner's job starts",
        lambda: twin.run("squeue; scontrol show job").out,
    )
    assert time.monotonic() - asked < GRACE + BOOT + BOUND
    assert _state(twin, guest) == "PENDING"
