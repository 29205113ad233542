"""A cluster of several distributions has one Slurm: SchedMD's packages, from a repository for each distribution.

schedmd.nodes.yml has the packages and sources of each node; tests/unit/project/golden/mixed has the files, and
tests/day2/test_as_ubuntu.py deploys the same inventory.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from gpupool.cluster.load import load
from gpupool.compile import files_of
from gpupool.compile.system.packages import base_for, slurm_for

FOLDER = Path(__file__).parent / "schedmd"


def test_nodes_of_three_distributions_have_schedmds_packages_from_their_repository() -> None:
    cluster = load(FOLDER)
    found = {
        name: {
            "packages": list(base_for(cluster, node)),
            "slurm": sorted({*slurm_for(cluster, node).values()}),
            "sources": [
                file.text.splitlines()[1:]
                for file in files_of(cluster, node, "repositories")
                if file.path.endswith(".sources")
            ],
        }
        for name, node in cluster.nodes.items()
    }
    assert found == yaml.safe_load(FOLDER.with_name("schedmd.nodes.yml").read_text())


def test_the_check_has_no_error_and_warns_of_each_distribution_without_a_known_run(gpupool: Callable[..., Any]) -> None:
    done = gpupool("check", FOLDER, "--json")
    complaints = json.loads(done.out)["complaints"]
    assert done.code == 0
    assert "error" not in {each["severity"] for each in complaints}
    unproved = [each["path"] for each in complaints if each["code"] == "distribution-is-proved"]
    assert unproved == ["hardware.dgx_a100.distribution", "nodes[1].distribution"]
