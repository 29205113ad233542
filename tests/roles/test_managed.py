"""`manage`: a node gets the steps and files of the roles that it names, and nothing else."""

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import empty_nodes
import pytest
from first_apply import steps
from origin import ORIGIN

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.managed import ROLES
from gpupool.engine.drive import run
from gpupool.operations import slurm_daemon
from gpupool.run.runner import SITE
from gpupool.target import Target

SMALL = Path(__file__).parents[1] / "unit" / "small"
OF_SLURM = ["slurm.conf", "gres.conf", "cgroup.conf", "plugstack.conf", "job_submit.lua"]


def managing(cluster: Cluster, roles: Mapping[str, list[str]]) -> Target:
    """Return a cluster's target, with the managed roles of some nodes."""
    nodes = {
        name: replace(node, managed_roles=frozenset(roles[name])) if name in roles else node
        for name, node in cluster.nodes.items()
    }
    return Target(replace(cluster, nodes=nodes), None, {})


def on_all(*roles: str) -> dict[str, list[str]]:
    """Return the same managed roles for all nodes of the small cluster."""
    return {name: [*roles] for name in ("ctl", "gpu-1", "gpu-2")}


def applied(target: Target) -> dict[str, list[str]]:
    report = run(target.hosts, SITE, execute=True, refusals_first=True, origin=ORIGIN)
    assert report.failures == {}
    return steps(report)


def test_roles_of_the_language_are_those_of_the_deploy() -> None:
    names = sorted(path.stem for path in (Path(__file__).parents[2] / "roles").glob("[!_]*.py"))
    assert list(ROLES) == names
    assert all(import_module(f"gpupool.roles.{name}").applies for name in names)


def test_slurm_and_accounts_alone_put_slurms_files_and_touch_nothing_else() -> None:
    # a distribution that gpupool does not know is no obstacle
    empty_nodes.SYSTEM["ctl"] = empty_nodes.SYSTEM["gpu-1"] = ["rocky", "9.5"]
    target = managing(load(SMALL), on_all("slurm", "accounts"))
    done = applied(target)
    assert done == {"ctl": ["Slurm configuration", "Account names", "Account limits"], "gpu-1": [], "gpu-2": []}
    paths = [path for path, *_ in empty_nodes.staged("ctl")]
    assert paths == [f"/etc/slurm/{name}" for name in OF_SLURM]
    assert {name for name, received in empty_nodes.RECEIVED.items() if received.commands} == {"ctl"}
    changes = re.compile(r"apt-get|systemctl (--quiet )?(enable|disable|start|restart|stop)|useradd")
    assert [found[0] for one in empty_nodes.RECEIVED["ctl"].commands if (found := changes.search(one))] == []


@pytest.mark.parametrize("role", ["firewall", "people", "ssh", "storage", "tools"])
def test_other_nodes_keep_all_roles_and_a_role_that_is_left_out_runs_nowhere(role: str) -> None:
    cluster = empty_nodes.testbed("example").cluster
    rest = [name for name in ROLES if name != role]
    whole = applied(managing(cluster, {}))
    empty_nodes.RECEIVED.clear()
    part = applied(managing(cluster, dict.fromkeys(list(cluster.nodes), rest)))
    lost = {step for name, done in whole.items() for step in done if step not in part[name]}
    assert {step for name, done in part.items() for step in done if step not in whole[name]} == set()
    assert lost, role
    assert "Packages" in {step for done in part.values() for step in done}


def test_without_the_controllers_role_slurmctld_reads_its_files_but_is_never_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(slurm_daemon, "running", lambda **given: asked.append((given["unit"], given["ours"])))
    applied(managing(load(SMALL), on_all("slurm")))
    assert asked == [("slurmctld", False)]
