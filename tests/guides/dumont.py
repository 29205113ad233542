"""The cluster of Santos Dumont's guide, for both files of tests on it, with its users' software."""

import os
from collections.abc import Iterator

import pytest
from inventories import INVENTORY
from pace import until

from tests.testbed.cluster import Testbed, gpupool, up

LOGIN, CONTROLLER, SERVER = "login", "sdumont-ctl", "sdumont-fs"
K40, GDL = "sdumont3000", "sdumont4000"
ME, COLLEAGUE, STRANGER, PROJECT = "usuario1", "usuario2", "usuario3", "projeto"
SCRATCH = f"/scratch/{PROJECT}/{ME}"
NETWORK = "10.178.0.0/16"
#: Programs that print a version, and otherwise run the node's own: file below /opt/sdumont, version, program to run.
PROGRAMS = (
    ("gcc/7.4/bin/gcc", "gcc (GCC) 7.4.0", "false"),
    ("python/3.9.1/bin/python", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/python3.9", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/pip", "pip 21.0", "python3 -m pip"),
    ("deepl/deeplearn-py3.7/bin/python", "Python 3.7.12", "python3"),
)


def install(testbed: Testbed, node: str) -> None:
    """Install stand-ins for the software of the guide's modules on a node."""
    for path, version, runs in PROGRAMS:
        file = f"/opt/sdumont/{path}"
        text = f'#!/bin/sh\n[ "$1" != --version ] || {{ echo "{version}"; exit; }}\nexec {runs} "$@"\n'
        testbed.out(node, f"mkdir -p {file.rpartition('/')[0]} && cat > {file} && chmod 755 {file}", text=text)
    testbed.out(node, "mkdir -p /opt/sdumont/cudnn/8.2_cuda-11.1/lib64")


def in_scratch(testbed: Testbed, command: str, text: str = "", user: str = ME) -> str:
    """Return the output of a command in the user's scratch."""
    return testbed.out(LOGIN, f"cd /scratch/*/{user} && {command}", user, text)


def to_the_past(testbed: Testbed) -> None:
    """Move all jobs two hours into the past: sreport only shows past whole hours."""
    open_jobs = "sacct -anXP -S 2021-06-01 -s R,PD -o jobid"
    until(lambda: not testbed.out(CONTROLLER, open_jobs), "slurmdbd knows of all ends")
    # a restarted slurmctld sends the end of jobs to slurmdbd again, but not their start; no job is that long
    again = "7200 * ROUND((time_end - time_start) / 7200)"
    day = 86400  # the cluster and its accounts must be older than their jobs
    changes = (
        f"UPDATE sdumont_job_table SET time_start = time_start + {again} WHERE time_end > time_start + 3600",
        "UPDATE sdumont_job_table SET time_start = time_start - 7200, time_eligible = time_start, "
        "time_end = time_end - 7200 WHERE time_start AND time_end > UNIX_TIMESTAMP() - 7200",
        f"UPDATE sdumont_assoc_table SET creation_time = creation_time - {day}",
        f"UPDATE sdumont_event_table SET time_start = time_start - {day} WHERE node_name = ''",
        *(f"DELETE FROM sdumont_assoc_usage_{each}_table" for each in ("hour", "day", "month")),
    )
    testbed.out(CONTROLLER, "mysql slurm_acct_db", text="".join(f"{change};\n" for change in changes))
    testbed.out(CONTROLLER, 'sacctmgr -i rollup "$(date -d "-2 days" +%F)" "$(date +%FT%H:00:00)"')


@pytest.fixture(scope="session")
def dumont() -> Iterator[Testbed]:
    """Santos Dumont, with stand-ins for the software of its guide's modules."""
    inventory = INVENTORY / "santos-dumont"
    testbed = up(inventory, NETWORK)
    for node in (K40, "sdumont3001", GDL):
        install(testbed, node)
    yield testbed
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", inventory)
