"""A node as a virtual machine: the container that runs it, its host key, and its state over SSH."""

import hashlib
import json
import platform
import shutil
import time
from dataclasses import asdict
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.testbed import docker, keys, look
from gpupool.testbed.bare import only_in_images
from gpupool.testbed.container import LOG_OPTIONS
from gpupool.testbed.spec import LABEL, NODE_LABEL, SHAPE_LABEL, Container, Spec
from gpupool.testbed.vm import boot as vm_boot
from gpupool.testbed.vm.image import AT, DISKS, Images

BOOT_SECONDS = 1200.0  # an emulated machine takes half a minute, or ten times that if many share a CPU
SETTLE_SECONDS = 60.0
STILL_SECONDS = 240.0  # a new machine that has written nothing by then hangs
_WRITTEN = 1 << 20  # bytes of its disk's file: QEMU itself writes less


def ensure_possible() -> None:
    """Raise TestbedError if this machine cannot run virtual machines."""
    if platform.machine() != "x86_64":
        raise TestbedError(f"--vm needs an x86_64 machine, this is {platform.machine()}: remove --vm")
    if not shutil.which("ssh"):
        raise TestbedError("ssh is not installed: apt-get install openssh-client")
    if not Path("/dev/net/tun").exists():
        raise TestbedError("a virtual machine's network needs /dev/net/tun: sudo modprobe tun")


def host_key(folder: Path, name: str) -> Path:
    """Return the private host key of a machine, created on first use, before the machine first boots."""
    place = folder / "machines" / name
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return keys.ensure_key(place)


def shape(spec: Spec, box: Container, folder: Path, public_key: str) -> str:
    """Return a digest of the properties that cannot change in an existing machine, including its keys."""
    known = keys.public_path(host_key(folder, box.name)).read_text()
    machine = asdict(box.machine) if box.machine else {}
    facts = [spec.network, spec.suite, box.address, box.hostname, machine, known, public_key]
    facts += only_in_images(box)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def create(
    spec: Spec, box: Container, images: Images, folder: Path, *, nameservers: tuple[str, ...], public_key: str
) -> list[str]:
    """Return the docker arguments that create the machine's container without starting it."""
    if box.machine is None:
        raise TestbedError(f"{box.name} is not a virtual machine")
    private = host_key(folder, box.name)
    start = vm_boot.script(
        spec,
        box,
        box.machine,
        disk=images.disks[frozenset(box.packages)],
        nameservers=nameservers,
        public_key=public_key,
        host_key=(private.read_text(), keys.public_path(private).read_text()),
    )
    kvm = ("--device", "/dev/kvm") if Path("/dev/kvm").exists() else ()
    return [
        "create",
        *("--name", spec.part(box.name), "--hostname", box.name),
        *("--label", f"{LABEL}={spec.id}", "--label", f"{NODE_LABEL}={box.name}"),
        *("--label", f"{SHAPE_LABEL}={shape(spec, box, folder, public_key)}"),
        *("--network", spec.id, "--ip", box.address),
        *("--cap-add", "NET_ADMIN", "--device", "/dev/net/tun", *kvm),
        *("--volume", f"{DISKS}:{AT}:ro", "--stop-timeout", str(vm_boot.STOP_SECONDS), "--restart", "no"),
        *LOG_OPTIONS,
        *(images.qemu, "/bin/sh", "-c", start),
    ]


def ssh_config(spec: Spec, folder: Path, key: Path) -> Path:
    """Write a configuration for ssh to the machines, before they have booted, and return its path."""
    pairs = [(box, keys.public_path(host_key(folder, box.name)).read_text()) for box in spec.machines]
    hosts, config = folder / "machines" / "known_hosts", folder / "machines" / "ssh_config"
    keys.write(hosts, keys.known_hosts(pairs))
    keys.write(config, keys.ssh_config(spec.machines, key, hosts))
    return config


def ready(spec: Spec, box: Container, config: Path) -> look.ProbeResult:
    """Wait until a machine has booted and SSH works, and return its probe; TestbedError if it stops or is too late.

    When it emulates several CPUs, QEMU 10 sometimes never fires the timer of one, and the kernel hangs before it has
    written anything: then the machine is switched off and on, once.
    """
    began = time.monotonic()
    name = spec.part(box.name)
    probe, again = look.read(""), False
    while (waited := time.monotonic() - began) < BOOT_SECONDS:
        probe = look.over_ssh(config, box.name)
        if probe.host_key and (probe.system in ("running", "degraded") or waited > SETTLE_SECONDS):
            return probe
        if not docker.inspect("container", [name])[name]["State"]["Running"]:
            logs = docker.attempt(["logs", "--tail", "3", name])
            tail = " / ".join((logs.stdout + logs.stderr).split("\n")).strip(" /") or "no output"
            raise TestbedError(f"{box.name} stopped while booting: {tail}")
        if waited > STILL_SECONDS and not again and not probe.host_key and not _has_written(name):
            again = True
            pull_plug(spec.id, box.name)
            docker.run(["start", name])
        time.sleep(1)
    late = f"{box.name} has not booted after {BOOT_SECONDS:.0f} s (systemd says: {probe.system})"
    raise TestbedError(f"{late}: see docker logs {name}")


def _has_written(name: str) -> bool:
    asked = docker.attempt(["exec", name, "stat", "-c", "%s", f"{vm_boot.FOLDER}/root.qcow2"])
    return asked.returncode != 0 or int(asked.stdout) > _WRITTEN


def pull_plug(testbed: str, node: str) -> None:
    """Switch a machine off like a power cut; `docker start` switches it on again."""
    name = f"{testbed}-{node}"
    docker.run(["kill", "--signal", "QUIT", name])
    docker.run(["wait", name])
