"""`verify --markdown` shows distributions, roles and results to others, and no name of a site."""

from pathlib import Path

import inventories

from gpupool import __version__
from gpupool.cluster.load import load
from gpupool.verify.page import page
from gpupool.verify.run import Outcome

NOBLE = (("box: {", "box: {distribution: noble, "), ("keys: homes", "keys: homes, compute_ssh: none"))


def test_a_page_counts_results_by_distribution_and_roles_and_by_check(tmp_path: Path) -> None:
    cluster = load(inventories.copied(inventories.SMALL, tmp_path / "site", *NOBLE))
    outcomes = [
        Outcome("slurmctld answers", "ctl", True),
        Outcome("all daemons run", "gpu-1", True),
        Outcome("all daemons run", "gpu-2", False, "gpu-2: nslcd of 10.90.2.2 is dead"),
        Outcome("exports are mounted", "gpu-1", False, "ann cannot read /srv/secret"),
        Outcome("exports are mounted", "gpu-2", True, not_checked="gpu-2 is lost"),
        Outcome("the checks themselves", "-", False, "gpu-1 broke them"),
    ]
    assert page(cluster, outcomes) == (
        f"# gpupool {__version__} on machines, with Slurm 24.11 (slurm.packages: distribution)\n"
        "\n"
        "| distribution | roles | nodes | passed | failed | not checked |\n"
        "|---|---|---|---|---|---|\n"
        "| Debian trixie | head, controller, database | 1 | 1 | 0 | 0 |\n"
        "| Ubuntu 24.04 | compute | 2 | 1 | 2 | 1 |\n"
        "\n"
        "| distribution | check | passed | failed | not checked |\n"
        "|---|---|---|---|---|\n"
        "| Debian trixie | slurmctld answers | 1 | 0 | 0 |\n"
        "| Ubuntu 24.04 | all daemons run | 1 | 1 | 0 |\n"
        "| Ubuntu 24.04 | exports are mounted | 0 | 1 | 1 |\n"
    )
