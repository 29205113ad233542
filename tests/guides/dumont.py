"""The cluster of one guide, for both files of tests on it, and what users have there."""

from tests.testbed.cluster import Testbed

LOGIN, CONTROLLER, SERVER = "login", "sdumont-ctl", "sdumont-fs"
K40, GDL = "sdumont3000", "sdumont4000"
ME, COLLEAGUE, STRANGER, PROJECT = "usuario1", "usuario2", "usuario3", "projeto"
SCRATCH = f"/scratch/{PROJECT}/{ME}"
NETWORK = "10.178.0.0/16"
#: Programs that say a version, and else are the node's own: file below /opt/sdumont, version, what they run.
PROGRAMS = (
    ("gcc/7.4/bin/gcc", "gcc (GCC) 7.4.0", "false"),
    ("python/3.9.1/bin/python", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/python3.9", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/pip", "pip 21.0", "python3 -m pip"),
    ("deepl/deeplearn-py3.7/bin/python", "Python 3.7.12", "python3"),
)


def install(testbed: Testbed, node: str) -> None:
    """Put what the modules of the guide stand for on a node."""
    for path, version, runs in PROGRAMS:
        file = f"/opt/sdumont/{path}"
        text = f'#!/bin/sh\n[ "$1" != --version ] || {{ echo "{version}"; exit; }}\nexec {runs} "$@"\n'
        testbed.out(node, f"mkdir -p {file.rpartition('/')[0]} && cat > {file} && chmod 755 {file}", text=text)
    testbed.out(node, "mkdir -p /opt/sdumont/cudnn/8.2_cuda-11.1/lib64")


def mine(testbed: Testbed, command: str, text: str = "", user: str = ME) -> str:
    """Return what a command prints in the user's scratch."""
    return testbed.out(LOGIN, f"cd /scratch/*/{user} && {command}", user, text)
