"""One container of a testbed: the docker command line that creates it, and a digest of its properties."""

import hashlib
import json

from gpupool.compile.system.devices import MAJOR
from gpupool.testbed import boot, docker
from gpupool.testbed.bare import only_in_images
from gpupool.testbed.spec import ANCHOR, LABEL, NODE_LABEL, SHAPE_LABEL, Container, Spec

LOG_OPTIONS = ("--log-driver", "json-file", "--log-opt", "max-size=1m")


def shape(spec: Spec, box: Container) -> str:
    """Return a digest of the properties that cannot change in an existing container; apply installs most packages."""
    volumes = {volume.key: [volume.source, volume.size, volume.kind] for volume in spec.volumes}
    own = [*box.disks, box.nests, *(["switches"] if box.switches else []), *([box.devices] if box.devices else [])]
    own += only_in_images(box)  # only images have them: apply cannot install them
    facts = [
        [spec.network, spec.suite, box.address, box.hostname, box.gpus, *own],
        sorted([path, key, *volumes[key]] for key, path in box.volumes.items()),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def create(
    spec: Spec, box: Container, *, image: str, cgroups: str, nameservers: tuple[str, ...], public_key: str
) -> list[str]:
    """Return the docker arguments that create this container without starting it."""
    host, _, domain = box.hostname.partition(".")
    testbed = spec.id if box.switches else ""
    start = boot.script(cgroups=cgroups, gpus=box.gpus, nameservers=nameservers, public_key=public_key, testbed=testbed)
    return [
        "create",
        *("--name", spec.part(box.name)),
        *("--hostname", host, *(("--domainname", domain) if domain else ())),
        *("--label", f"{LABEL}={spec.id}", "--label", f"{NODE_LABEL}={box.name}"),
        *("--label", f"{SHAPE_LABEL}={shape(spec, box)}"),
        *("--network", spec.id, "--ip", box.address),
        *_machine(),
        *_gpus(box.gpus + box.devices),
        *(word for key, path in box.volumes.items() for word in ("--volume", f"{spec.part(key)}:{path}")),
        # docker removes volumes without a name together with the container
        *(word for path in box.disks for word in ("--volume", path)),
        # only root can open /root
        *(("--mount", f"type=bind,source={docker.socket()},target=/root/docker.sock") if box.switches else ()),
        # users' namespaces can mount /proc only if docker masks no part of it
        *(("--security-opt", "systempaths=unconfined") if box.nests else ()),
        *LOG_OPTIONS,
        *(image, "/bin/sh", "-c", start),
    ]


def anchor(spec: Spec, image: str) -> list[str] | None:
    """Return docker's arguments for the container that keeps volumes in memory while all nodes are off, or None."""
    held = [volume.key for volume in spec.volumes if volume.kind == "tmpfs"]
    if not held:
        return None
    return [
        "create",
        *("--name", spec.part(ANCHOR), "--label", f"{LABEL}={spec.id}", "--label", f"{SHAPE_LABEL}={','.join(held)}"),
        *("--network", "none", "--stop-signal", "SIGKILL", *LOG_OPTIONS),
        *(word for key in held for word in ("--volume", f"{spec.part(key)}:/volumes/{key}")),
        *(image, "sleep", "infinity"),
    ]


def _machine() -> list[str]:
    """Return docker's options for systemd: all capabilities except over this machine's clock, modules and limits."""
    return [
        *("--env", "container=docker", "--cgroupns", "private"),
        *("--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE", "--cap-drop", "SYS_TIME", "--cap-drop", "SYS_MODULE"),
        *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
        *("--tmpfs", "/run:mode=755", "--tmpfs", "/tmp:exec,mode=1777", "--shm-size", "512m"),
        *("--stop-signal", "SIGRTMIN+3", "--restart", "no"),
    ]


def _gpus(count: int) -> list[str]:
    # One rule for each device: under v1, a wildcard would override a job's own deny rule.
    rules = [f"c {MAJOR}:{minor} rwm" for minor in boot.gpu_minors(count)]
    return [word for rule in rules for word in ("--device-cgroup-rule", rule)]
