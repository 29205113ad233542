"""The question for the steps of jobs, with real sockets of this machine."""

import socket
import subprocess
import tempfile
from pathlib import Path

import real_shell

from gpupool.facts.step_sockets import StepSockets

_LISTEN = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print(flush=True)
input()
"""
_NAME = "gpu-1_00017.4294967291"


def test_steps_are_roots_listening_sockets_and_a_user_cannot_invent_one() -> None:
    with tempfile.TemporaryDirectory() as top, socket.socket(socket.AF_UNIX) as step:
        Path(top).chmod(0o711)
        spool, users = Path(top, "a spool"), Path(top, "users")
        spool.mkdir()
        users.mkdir()
        users.chmod(0o777)
        step.bind(str(spool / _NAME))
        step.listen()
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        user += ["python3", "-c", _LISTEN, str(users / _NAME)]
        with subprocess.Popen(user, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == b"\n"
            found = real_shell.fact_here(StepSockets)
            process.stdin.close()
    assert {at: jobs for at, jobs in found.items() if at.startswith(top)} == {str(spool): ["00017"]}
