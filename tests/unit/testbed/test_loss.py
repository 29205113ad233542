"""The losses of `testbed up`: nodes that it would recreate, and a testbed that it would take from another inventory."""

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY

from gpupool.cli.testbed import wanted
from gpupool.testbed import keys, state
from gpupool.testbed.bare import bare
from gpupool.testbed.container import shape
from gpupool.testbed.loss import Loss, of
from gpupool.testbed.spec import NODE_LABEL, SHAPE_LABEL, Spec

EXAMPLE = INVENTORY / "example"


@pytest.fixture(autouse=True)
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("GPUPOOL_TESTBED_PREFIX", raising=False)


@pytest.fixture
def spec() -> Spec:
    return wanted(EXAMPLE, name=None, prefix="gpupool", network=None)[0]


def containers(spec: Spec, *, other: Collection[str] = ()) -> dict[str, Any]:
    """Return what docker says of the containers that an `up` has created; those of `other` nodes have another shape."""
    return {
        box.name: {
            "Name": f"/{spec.part(box.name)}",
            "Config": {
                "Labels": {NODE_LABEL: box.name, SHAPE_LABEL: "other" if box.name in other else shape(spec, box)}
            },
            "State": {"Running": True},
        }
        for box in spec.containers
    }


def started(spec: Spec, inventory: Path) -> None:
    """Leave the state of an `up` of an inventory."""
    with state.locked(spec.id) as folder:
        key = keys.ensure_key(folder)
        names = {name: str(folder / name) for name in ("known_hosts", "ssh_config")}
        shown = {
            key: value for key, value in asdict(spec).items() if key in ("name", "prefix", "network", "domain", "suite")
        }
        empty: dict[str, Any] = {"images": {}, "nodes": {}, "roles": {}}
        state.save(
            state.State(id=spec.id, inventory=str(inventory), cgroups="v2", key=str(key), **shown, **names, **empty)
        )


def test_a_first_start_and_a_repeated_one_lose_nothing(spec: Spec) -> None:
    assert not of(spec, EXAMPLE, {})
    started(spec, EXAMPLE)
    assert not of(spec, EXAMPLE / ".." / "example", containers(spec))


def test_a_changed_node_is_lost_with_its_database(spec: Spec) -> None:
    started(spec, EXAMPLE)
    loss = of(spec, EXAMPLE, containers(spec, other=("control", "rtx-01")))
    assert loss == Loss(nodes=("control", "rtx-01"), databases=("control",))


def test_a_package_that_only_an_image_can_have_changes_the_node(spec: Spec) -> None:
    """Apply installs packages of the node's own suite, and no others."""
    started(spec, EXAMPLE)
    standing = containers(spec)

    def with_package(name: str) -> Spec:
        boxes = [replace(box, packages=(*box.packages, name)) for box in spec.containers if box.name == "rtx-01"]
        return replace(spec, containers=tuple(boxes))

    assert of(with_package("apptainer/sid"), EXAMPLE, standing) == Loss(nodes=("rtx-01",))
    assert not of(with_package("apptainer"), EXAMPLE, standing)
    assert not of(bare(with_package("apptainer")), EXAMPLE, standing)


def test_the_testbed_of_another_inventory_is_lost_to_it(spec: Spec) -> None:
    started(spec, Path("/site/other"))
    assert of(spec, EXAMPLE, containers(spec)) == Loss(inventory="/site/other")


def test_nodes_that_accept_only_a_lost_key_are_recreated(spec: Spec) -> None:
    """They are another user's, or their state was removed."""
    loss = of(spec, EXAMPLE, containers(spec))
    assert loss.nodes == tuple(box.name for box in spec.containers)
    assert loss.keyless


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: Spec) -> Path:
    """A docker that only answers questions about these containers, and logs all of its commands in a file."""
    program, log = tmp_path / "bin" / "docker", tmp_path / "docker.log"
    program.parent.mkdir()
    entries = containers(spec, other=["control"])
    (tmp_path / "inspect.json").write_text(json.dumps([*entries.values()]))
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {log}\ncase $1 in version) echo 28;; container) cat {tmp_path}/inspect.json;;\n'
        f"ps) echo {' '.join(spec.part(name) for name in entries)};; *) exit 1;; esac\n"
    )
    program.chmod(0o755)
    (program.with_name("dockerd")).symlink_to(program)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return log


def test_up_asks_before_it_takes_another_testbed_or_recreates_a_database(
    gpupool: Callable[..., Any], docker: Path, spec: Spec
) -> None:
    started(spec, Path("/site/other"))
    done = gpupool("testbed", "up", EXAMPLE)
    assert done.code == 1
    assert done.err == (
        f"testbed example is that of /site/other, which would lose it (for another testbed beside it: "
        f"gpupool testbed up {EXAMPLE} --name example-2)\n"
        "to be recreated, because the inventory has changed: control; their jobs and files are lost, and the "
        "accounting database on control\n"
        "testbed up takes or recreates existing nodes: use --yes, or run it in a terminal to confirm it; "
        "nothing was changed\n"
    )
    assert {line.split()[0] for line in docker.read_text().splitlines()} == {"version", "ps", "container"}
    assert state.load(spec.id).inventory == "/site/other"


def test_after_a_refused_up_no_command_uses_real_nodes(gpupool: Callable[..., Any], docker: Path) -> None:
    assert gpupool("testbed", "up", EXAMPLE).code == 1
    done = gpupool("apply", EXAMPLE, "--yes")
    assert done.code == 1
    assert "use --on nodes for the real nodes" in done.err
