"""A cluster of several distributions has one Slurm: SchedMD's packages, from a repository for each distribution.

schedmd.nodes.yml has the packages and sources of each node.
"""

from pathlib import Path

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
