"""Start a testbed with `up`, which can be repeated at any time, and remove it with `down`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpupool.documents.testbed import UpDocument
from gpupool.errors import TestbedError
from gpupool.testbed import booted, container, docker, dockerd, host, image, keys, look, loss, network, orders, vm
from gpupool.testbed import state as kept
from gpupool.testbed.orders import Order
from gpupool.testbed.parallel import parallel
from gpupool.testbed.spec import ANCHOR, LABEL, SHAPE_LABEL, Container, Spec
from gpupool.testbed.state import State

Tell = Callable[[str], None]
ENDPOINT_CHECKS = 10  # one each second


@dataclass(frozen=True)
class Up:
    """The result of `up`: nodes created, recreated (new shape), started or kept, and orphans not in the inventory."""

    state: State
    created: tuple[str, ...] = ()
    recreated: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    failed_units: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    def as_dict(self) -> UpDocument:
        """Return the result as plain data."""
        return {
            "state": self.state.as_dict(),
            "created": list(self.created),
            "recreated": list(self.recreated),
            "started": list(self.started),
            "kept": list(self.kept),
            "orphans": list(self.orphans),
            "failed_units": {name: list(units) for name, units in self.failed_units.items()},
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }


def up(spec: Spec, *, inventory: Path, tell: Tell = lambda _: None) -> Up:
    """Create and start missing parts of a testbed; return after every node has booted and its host key is known."""
    began = time.monotonic()
    dockerd.ensure()
    if spec.machines:
        vm.ensure_possible()
    network.exists(spec)  # a wrong network fails here, before images are built or the testbed's state is saved
    with kept.locked(spec.id) as folder:
        had_key = keys.key_in(folder) is not None
        key = keys.ensure_key(folder)
        public_key = keys.public_path(key).read_text().strip()
        wanted = orders.place(spec, folder, public_key, tell)
        state = _state(spec, inventory, folder, key, wanted)
        kept.save(state)  # saved before the first container, so that status and down work after an interrupted up
        network.ensure(spec)
        network.ensure_volumes(spec)
        warning = host.allow_inotify(len(spec.containers))
        tell("containers")
        done = _settle(spec, wanted, had_key=had_key)
        tell("waiting until the nodes have booted")
        ready = booted.wait_until_ready(spec, folder, key)
        keys.write(Path(state.known_hosts), keys.known_hosts([(box, seen.host_key) for box, seen in ready]))
        keys.write(Path(state.ssh_config), keys.ssh_config(spec.containers, key, Path(state.known_hosts)))
        return Up(
            state=state,
            **done,
            failed_units={box.name: seen.failed_units for box, seen in ready if seen.failed_units},
            warnings=((warning,) if warning else ()) + tuple(booted.still_starting(ready)),
            seconds=round(time.monotonic() - began, 1),
        )


def down(testbed: str) -> tuple[str, ...]:
    """Remove everything with this testbed's label, and its state; return the names of all that was removed."""
    dockerd.ensure(may_install=False)
    with kept.locked(testbed):
        label = f"{LABEL}={testbed}"
        boxes = docker.labelled("container", label)
        parallel(lambda name: docker.attempt(["rm", "--force", "--volumes", name]), boxes)
        left = docker.labelled("container", label)
        if left:
            raise TestbedError(f"docker did not remove {', '.join(left)}: try again")
        networks, volumes = docker.labelled("network", label), docker.labelled("volume", label)
        for name in networks:
            _remove_network(name)
        for name in volumes:
            docker.run(["volume", "rm", "--force", name])
        kept.forget(testbed)
        return (*boxes, *networks, *volumes)


def _remove_network(name: str) -> None:
    """Remove a network. A loaded dockerd may count endpoints of removed containers, at worst until its restart."""
    for _ in range(ENDPOINT_CHECKS):
        done = docker.attempt(["network", "rm", name])
        if done.returncode == 0:
            return
        time.sleep(1)
    raise TestbedError(f"docker did not remove the network {name}: {docker.reason(done)}. A restart of docker helps")


def _state(spec: Spec, inventory: Path, folder: Path, key: Path, wanted: dict[str, Order]) -> State:
    return State(
        id=spec.id,
        name=spec.name,
        prefix=spec.prefix,
        inventory=str(inventory.absolute()),
        network=spec.network,
        domain=spec.domain,
        suite=spec.suite,
        cgroups=host.host_cgroups(),
        images={name: order.image for name, order in wanted.items()},
        nodes={box.name: box.address for box in spec.containers},
        roles={box.name: list(box.roles) for box in spec.containers},
        key=str(key),
        known_hosts=str(folder / "known_hosts"),
        ssh_config=str(folder / "ssh_config"),
        machines=[box.name for box in spec.machines],
        spares=dict(spec.spares),
        shapes={box.name: wanted[box.name].shape for box in spec.containers},
    )


def _settle(spec: Spec, wanted: dict[str, Order], *, had_key: bool) -> dict[str, tuple[str, ...]]:
    """Create, recreate, start or keep each container; return the names by action."""
    existing = look.standing(spec.id)
    _anchor(spec)

    def make(box: Container) -> None:
        made = wanted[box.name].create
        done = docker.attempt(made)
        if docker.name_is_taken(done):  # docker may still create it for an up that was just killed
            docker.run(["rm", "--force", "--volumes", spec.part(box.name)])
            done = docker.attempt(made)
        if done.returncode:
            raise TestbedError(f"{box.name} could not be created: {docker.reason(done)}")
        docker.run(["start", spec.part(box.name)])

    # Changed containers are removed before any is created: a node may get another's former address.
    shapes = {name: order.shape for name, order in wanted.items()}
    changed = loss.changed(spec, existing, shapes if had_key else None)
    parallel(lambda box: docker.run(["rm", "--force", "--volumes", spec.part(box.name)]), changed)

    def settle(box: Container) -> tuple[str, str]:
        if box.name not in existing or box in changed:
            make(box)
            return "recreated" if box in changed else "created", box.name
        if existing[box.name]["State"]["Running"]:
            return "kept", box.name
        docker.run(["start", spec.part(box.name)])
        return "started", box.name

    done: dict[str, tuple[str, ...]] = {}
    for verb, name in parallel(settle, spec.containers):
        done[verb] = (*done.get(verb, ()), name)
    orphans = tuple(name for name in existing if name not in wanted)
    return {**done, **({"orphans": orphans} if orphans else {})}


def _anchor(spec: Spec) -> None:
    """Start the container that keeps volumes in memory; recreate it if the volumes have changed."""
    wanted = container.anchor(spec, image.base_tag(spec.suite))
    name = spec.part(ANCHOR)
    existing = docker.inspect("container", [name]).get(name)
    if existing is not None and (
        wanted is None or f"{SHAPE_LABEL}={existing['Config']['Labels'].get(SHAPE_LABEL)}" not in wanted
    ):
        docker.run(["rm", "--force", name])
        existing = None
    if wanted is None:
        return
    if existing is None:
        docker.run(wanted)
    docker.run(["start", name])
