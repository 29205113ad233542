"""A docker daemon that answers: found, started or, for root on Debian, installed; otherwise the reason why not."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.testbed import apt, docker

LOG = Path("/var/log/gpupool-dockerd.log")
ANSWER_SECONDS = 30.0


def ensure(*, may_install: bool = True) -> str:
    """Return the docker daemon's version, after starting or installing docker if needed; TestbedError if impossible."""
    if not _there():
        if not may_install or not _is_root():
            raise TestbedError(_not_installed())
        _install()
    version, output = _ask()
    if version:
        return version
    if docker.is_forbidden(output):
        raise TestbedError(_not_allowed())
    if os.environ.get("DOCKER_HOST"):
        raise TestbedError(_not_there(os.environ["DOCKER_HOST"]))
    if not _is_root():
        raise TestbedError(
            "docker is not running on this machine, and only root can start it: sudo systemctl start docker"
        )
    _start()
    return _wait()


def _there() -> bool:
    """Return whether docker's programs are installed; for a daemon on another host, the client is enough."""
    return bool(shutil.which("docker") and (shutil.which("dockerd") or os.environ.get("DOCKER_HOST") or _ask()[0]))


def _is_root() -> bool:
    return os.geteuid() == 0


def _not_installed() -> str:
    return "docker is not installed on this machine, and only root can install it: sudo apt-get install docker.io"


def _not_allowed() -> str:
    return (
        "this user may not use docker: run as root, or join the group and log in again: sudo usermod -aG docker $USER"
    )


def _not_there(host: str) -> str:
    return f"no docker answers at DOCKER_HOST={host}: start it, or unset DOCKER_HOST to use the one on this machine"


def _ask() -> tuple[str, str]:
    """Return the daemon's version and "", or "" and docker's error."""
    if not shutil.which("docker"):
        return "", "docker is not installed"
    try:
        done = docker.attempt(["version", "--format", "{{.Server.Version}}"], timeout=20)
    except TestbedError as error:
        return "", str(error)
    return (done.stdout.strip(), "") if done.returncode == 0 else ("", docker.reason(done))


def _install() -> None:
    if not shutil.which("apt-get"):
        raise TestbedError(
            "docker is not installed on this machine, which is not Debian: install docker, then run this again"
        )
    packages = ["docker.io", "iptables"]
    if not shutil.which("docker"):  # a separate package since Debian 13; before, part of docker.io
        known = subprocess.run(["apt-cache", "show", "docker-cli"], capture_output=True, check=False)
        packages += ["docker-cli"] if known.returncode == 0 else []
    if why := apt.install(packages):
        raise TestbedError(f"cannot install docker: {why}")


def _start() -> None:
    """Start the daemon with systemd if it runs here, otherwise as a process that outlives this one."""
    if Path("/run/systemd/system").is_dir():
        done = subprocess.run(["systemctl", "start", "docker"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise TestbedError("systemd could not start docker: see journalctl -u docker -n 20")
        return
    forget_if_dead(Path("/var/run/docker.pid"), "dockerd")
    forget_if_dead(Path("/var/run/docker/containerd/containerd.pid"), "containerd")
    LOG.parent.mkdir(parents=True, exist_ok=True)
    # The daemon outlives us, so variables for this process alone, such as a temporary folder, are removed.
    env = {name: text for name, text in os.environ.items() if name != "TMPDIR" and not name.startswith("GPUPOOL_")}
    nowhere = subprocess.DEVNULL
    with LOG.open("ab") as log:
        subprocess.Popen(["dockerd"], stdin=nowhere, stdout=log, stderr=log, start_new_session=True, cwd="/", env=env)


def forget_if_dead(pid_file: Path, name: str) -> None:
    """Remove a pid file unless its daemon runs: docker refuses to start while any process has the pid in the file.

    That process may be another program, or the killed daemon as a zombie.
    """
    try:
        status = Path(f"/proc/{int(pid_file.read_text())}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return
    except ValueError:
        status = ""
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    if fields.get("Name") != name or fields.get("State", "").startswith("Z"):
        pid_file.unlink(missing_ok=True)


def _wait() -> str:
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        version, _ = _ask()
        if version:
            return version
        time.sleep(0.2)
    raise TestbedError(f"docker was started but does not answer: see the last lines of {LOG}")
