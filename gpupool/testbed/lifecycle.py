"""A testbed's life: up, which may be repeated at any moment, and down, which leaves nothing."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpupool.errors import TestbedError
from gpupool.testbed import container, docker, dockerd, host, image, keys, look, network
from gpupool.testbed import state as kept
from gpupool.testbed.abreast import abreast
from gpupool.testbed.spec import ANCHOR, LABEL, SHAPE_LABEL, Container, Spec
from gpupool.testbed.state import State

Tell = Callable[[str], None]
BOOT_SECONDS = 90.0
# So long we wait for a node's last services: on a cluster that is set up, some wait for another node.
SETTLE_SECONDS = 20.0

# A key made after the container was (its folder got lost) is let in too.
_ALLOW = 'grep -qsF "$1" /root/.ssh/authorized_keys || echo "$1" >> /root/.ssh/authorized_keys\n'


@dataclass(frozen=True)
class Up:
    """What ``up`` did: nodes made, made anew (their shape changed), started, left alone, and those no longer named."""

    state: State
    created: tuple[str, ...] = ()
    recreated: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    failed_units: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self)


def up(spec: Spec, *, inventory: Path, tell: Tell = lambda _: None) -> Up:
    """Make and start what is missing of a testbed, and return once every node has booted and its host key is known."""
    began = time.monotonic()
    dockerd.ensure()
    network.stands(spec)  # refused before images are built, and before anything is kept of a testbed that never was
    with kept.held(spec.id) as folder:
        key = keys.ensure_key(folder)
        public_key = keys.public_path(key).read_text().strip()
        images = image.ensure(spec.suite, {frozenset(box.packages) for box in spec.containers}, tell)
        state = _state(spec, inventory, folder, key, images)
        kept.save(state)  # before the first container, so that status and down know a testbed that was cut short
        network.ensure(spec)
        network.ensure_volumes(spec)
        warning = host.allow_inotify(len(spec.containers))
        tell("containers")
        done = _settle(spec, state, public_key)
        tell("waiting until the nodes have booted")
        ready = abreast(lambda box: (box, _ready(spec, box, public_key)), spec.containers)
        keys.write(Path(state.known_hosts), keys.known_hosts([(box, seen.host_key) for box, seen in ready]))
        keys.write(Path(state.ssh_config), keys.ssh_config(spec.containers, key, Path(state.known_hosts)))
        return Up(
            state=state,
            **done,
            failed_units={box.name: seen.failed_units for box, seen in ready if seen.failed_units},
            warnings=((warning,) if warning else ()) + tuple(_still_starting(ready)),
            seconds=round(time.monotonic() - began, 1),
        )


def down(testbed: str) -> tuple[str, ...]:
    """Remove all that carries this testbed's label, and what is kept of it; return the names of what was removed."""
    dockerd.ensure(may_install=False)
    with kept.held(testbed):
        label = f"{LABEL}={testbed}"
        boxes = docker.labelled("container", label)
        abreast(lambda name: docker.attempt(["rm", "--force", "--volumes", name]), boxes)
        left = docker.labelled("container", label)
        if left:
            raise TestbedError(f"docker did not remove {', '.join(left)}: try again")
        networks, volumes = docker.labelled("network", label), docker.labelled("volume", label)
        for name in networks:
            docker.run(["network", "rm", name])
        for name in volumes:
            docker.run(["volume", "rm", "--force", name])
        kept.forget(testbed)
        return (*boxes, *networks, *volumes)


def _state(spec: Spec, inventory: Path, folder: Path, key: Path, images: dict[frozenset[str], str]) -> State:
    return State(
        id=spec.id,
        name=spec.name,
        prefix=spec.prefix,
        inventory=str(inventory.absolute()),
        network=spec.network,
        domain=spec.domain,
        suite=spec.suite,
        cgroups=host.host_cgroups(),
        images={box.name: images[frozenset(box.packages)] for box in spec.containers},
        nodes={box.name: box.address for box in spec.containers},
        roles={box.name: list(box.roles) for box in spec.containers},
        key=str(key),
        known_hosts=str(folder / "known_hosts"),
        ssh_config=str(folder / "ssh_config"),
    )


def _settle(spec: Spec, state: State, public_key: str) -> dict[str, tuple[str, ...]]:
    """Make, make anew, start or leave each container, and return the names by what was done."""
    there = look.standing(spec.id)
    servers = host.nameservers()
    _anchor(spec)

    def make(box: Container) -> None:
        made = container.create(
            spec,
            box,
            image=state.images[box.name],
            cgroups=state.cgroups,
            nameservers=servers,
            public_key=public_key,
        )
        done = docker.attempt(made)
        if "already in use by container" in done.stderr:  # a killed up had asked docker for it a moment ago
            docker.run(["rm", "--force", "--volumes", spec.part(box.name)])
            done = docker.attempt(made)
        if done.returncode:
            raise TestbedError(f"{box.name} could not be made: {docker.reason(done)}")
        docker.run(["start", spec.part(box.name)])

    # All that changed goes before anything is made: one node may take the address that another gave up.
    changed = [box for box in spec.containers if box.name in there and _is_changed(there[box.name], spec, box)]
    abreast(lambda box: docker.run(["rm", "--force", "--volumes", spec.part(box.name)]), changed)

    def settle(box: Container) -> tuple[str, str]:
        if box.name not in there or box in changed:
            make(box)
            return "recreated" if box in changed else "created", box.name
        if there[box.name]["State"]["Running"]:
            return "kept", box.name
        docker.run(["start", spec.part(box.name)])
        return "started", box.name

    done: dict[str, tuple[str, ...]] = {}
    for verb, name in abreast(settle, spec.containers):
        done[verb] = (*done.get(verb, ()), name)
    orphans = tuple(name for name in there if name not in state.nodes)
    return {**done, **({"orphans": orphans} if orphans else {})}


def _is_changed(there: dict[str, Any], spec: Spec, box: Container) -> bool:
    return bool(there["Config"]["Labels"].get(SHAPE_LABEL) != container.shape(spec, box))


def _anchor(spec: Spec) -> None:
    """Keep a sleeping container that holds the volumes in memory, made anew when there are others."""
    wanted = container.anchor(spec, image.base_tag(spec.suite))
    name = spec.part(ANCHOR)
    there = docker.inspect("container", [name]).get(name)
    if there is not None and (
        wanted is None or f"{SHAPE_LABEL}={there['Config']['Labels'].get(SHAPE_LABEL)}" not in wanted
    ):
        docker.run(["rm", "--force", name])
        there = None
    if wanted is None:
        return
    if there is None:
        docker.run(wanted)
    docker.run(["start", name])


def _still_starting(ready: list[tuple[Container, look.Found]]) -> list[str]:
    late = [box.name for box, seen in ready if seen.system not in ("running", "degraded")]
    return [f"{name} still starts services: systemctl list-jobs there says which" for name in late]


def _ready(spec: Spec, box: Container, public_key: str) -> look.Found:
    """Wait until a node has booted, all but services that take their time, and return what was found there."""
    began = time.monotonic()
    name = spec.part(box.name)
    found = look.read("")
    while (waited := time.monotonic() - began) < BOOT_SECONDS:
        seen = docker.attempt(["exec", name, "/bin/sh", "-c", _ALLOW + look.PROBE, "sh", public_key], timeout=30)
        found = look.read(seen.stdout)
        if found.host_key and found.sshd and (found.system in ("running", "degraded") or waited > SETTLE_SECONDS):
            return found
        if "is not running" in seen.stderr:
            logs = docker.attempt(["logs", "--tail", "3", name])
            words = " / ".join((logs.stdout + logs.stderr).split("\n")).strip(" /") or "it wrote nothing"
            raise TestbedError(f"{box.name} stopped while it booted: {words}")
        time.sleep(0.3)
    late = f"{box.name} has not booted after {BOOT_SECONDS:.0f} s (systemd says: {found.system})"
    raise TestbedError(f"{late}: docker logs {name} says why")
