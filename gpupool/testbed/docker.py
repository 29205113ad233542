"""The docker command line, called in one place: it returns text, and failures are TestbedErrors."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from gpupool.errors import TestbedError

HANGS = 600.0  # time limit of a command in seconds; a busy machine may be slow
_running: set["subprocess.Popen[str]"] = set()


def run(args: Sequence[str], *, stdin: str | None = None, timeout: float = HANGS) -> str:
    """Run `docker ARGS` and return its standard output; TestbedError after a failure or the timeout (seconds)."""
    done = attempt(args, stdin=stdin, timeout=timeout)
    if done.returncode:
        raise TestbedError(f"docker {args[0]} failed: {reason(done)}")
    return done.stdout


def attempt(
    args: Sequence[str], *, stdin: str | None = None, timeout: float = HANGS
) -> subprocess.CompletedProcess[str]:
    """Run `docker ARGS` and return the result, failed or not; TestbedError without docker or after the timeout."""
    command = ["docker", *args]
    try:
        # A separate session, because docker killed by Ctrl-C leaves things without a name. Docker gets no standard
        # input except ours: docker would consume the admin's answers to later questions.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, "DOCKER_CLI_HINTS": "false"},
        )
    except FileNotFoundError as error:
        raise TestbedError("docker is not installed on this machine: apt-get install docker.io") from error
    _running.add(process)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"docker {args[0]} did not answer for {timeout:.0f} s: is dockerd running?") from error
    finally:
        _running.discard(process)
        if process.poll() is None:
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def socket() -> str:
    """Return the path of dockerd's socket on this machine."""
    kind, _, path = os.environ.get("DOCKER_HOST", "").partition("://")
    return path if kind == "unix" else "/var/run/docker.sock"


def stop_waiting() -> None:
    """Kill every running docker command, so that threads that wait for one can clean up and end."""
    for process in tuple(_running):
        process.kill()


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of docker's standard error, without docker's prefixes."""
    hints = ("See '", "Run 'docker ", "Usage:", "exit status ")
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(hints)]
    message = lines[-1] if lines else f"exit {done.returncode}"
    for prefix in ("docker: ", "Error response from daemon: ", "Error: "):
        message = message.removeprefix(prefix)
    return message.strip()


def name_is_taken(done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether docker created no container because the name is in use."""
    return "already in use by container" in done.stderr


def is_stopped(done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether a command in a container failed because the container does not run."""
    return "is not running" in done.stderr


def is_forbidden(errors: str) -> bool:
    """Return whether docker's standard error says that this user may not use the daemon."""
    return "permission denied" in errors.lower()


def inspect(kind: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return `docker inspect` of these containers, networks or volumes, by name, without unknown names."""
    if not names:
        return {}
    done = attempt([kind, "inspect", *names])
    if done.returncode and not any(gone in done.stderr.lower() for gone in ("no such", "not found")):
        raise TestbedError(f"docker {kind} inspect failed: {reason(done)}")
    known = {str(entry.get("Name", "")).removeprefix("/"): entry for entry in json.loads(done.stdout or "[]")}
    return {name: known[name] for name in names if name in known}


def labelled(kind: str, label: str) -> list[str]:
    """Return the names of all containers, networks or volumes with this label (`key` or `key=value`)."""
    listing = {"container": ["ps", "--all"], "network": ["network", "ls"], "volume": ["volume", "ls"]}[kind]
    form = "{{.Names}}" if kind == "container" else "{{.Name}}"
    return run([*listing, "--filter", f"label={label}", "--format", form]).split()


def labels(label: str) -> set[str]:
    """Return all values of this label on containers, networks and volumes."""
    form = '{{.Label "' + label + '"}}'
    listings = (["ps", "--all"], ["network", "ls"], ["volume", "ls"])
    return {
        word for listing in listings for word in run([*listing, "--filter", f"label={label}", "--format", form]).split()
    }
