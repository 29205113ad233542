"""Wait until the nodes of a testbed have booted: ask containers through docker, virtual machines over SSH."""

import time
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.testbed import docker, keys, look, vm
from gpupool.testbed.parallel import parallel
from gpupool.testbed.spec import Container, Spec

BOOT_SECONDS = 300.0  # time limit of a boot, thirty times as long as a boot takes on an idle machine
# Longest wait for a node's last services: after an apply, some of them wait for another node.
SETTLE_SECONDS = 20.0

# Also authorizes a key that is newer than the container, in case the testbed's folder was lost.
_ALLOW = 'grep -qsF "$1" /root/.ssh/authorized_keys || echo "$1" >> /root/.ssh/authorized_keys\n'

Ready = list[tuple[Container, look.ProbeResult]]


def wait_until_ready(spec: Spec, folder: Path, key: Path) -> Ready:
    """Return the probe of each node as soon as it accepts SSH; `key` is the testbed's private key."""
    public_key = keys.public_path(key).read_text().strip()
    into = vm.ssh_config(spec, folder, key) if spec.machines else Path()

    def ready(box: Container) -> tuple[Container, look.ProbeResult]:
        return box, vm.ready(spec, box, into) if box.machine else _ready(spec, box, public_key)

    return parallel(ready, spec.containers)


def still_starting(ready: Ready) -> list[str]:
    """Return a warning for each node whose services are still starting."""
    late = [box.name for box, seen in ready if seen.system not in ("running", "degraded")]
    return [f"{name} is still starting services: run systemctl list-jobs on it" for name in late]


def _ready(spec: Spec, box: Container, public_key: str) -> look.ProbeResult:
    """Wait until a node has booted, except slow services, and return its probe; TestbedError if it stops or is late."""
    began = time.monotonic()
    name = spec.part(box.name)
    probe = look.read("")
    while (waited := time.monotonic() - began) < BOOT_SECONDS:
        seen = docker.attempt(["exec", name, "/bin/sh", "-c", _ALLOW + look.PROBE, "sh", public_key])
        probe = look.read(seen.stdout)
        if probe.host_key and probe.sshd and (probe.system in ("running", "degraded") or waited > SETTLE_SECONDS):
            return probe
        if docker.is_stopped(seen):
            logs = docker.attempt(["logs", "--tail", "3", name])
            tail = " / ".join((logs.stdout + logs.stderr).split("\n")).strip(" /") or "no output"
            raise TestbedError(f"{box.name} stopped while booting: {tail}")
        time.sleep(0.3)
    late = f"{box.name} has not booted after {BOOT_SECONDS:.0f} s (systemd says: {probe.system})"
    raise TestbedError(f"{late}: see docker logs {name}")
