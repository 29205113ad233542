"""AAU AI Cloud's inventory covers the points that its guide leaves open, and can be extended by added lines only."""

from pathlib import Path

import pytest
from inventories import INVENTORY, changed, cluster_at

from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import gres_conf

AAU = INVENTORY / "aau-ai-cloud"
DAY = 24 * 60 * 60


@pytest.mark.promise("AAU-020")
def test_limits_of_each_qos() -> None:
    limits = {
        name: (qos.limits.per_user.cpu, qos.limits.per_user.gpu, qos.max_wall)
        for name, qos in cluster_at(AAU).qos.items()
    }
    assert limits == {
        "normal": (20, 1, 2 * DAY),
        "short": (32, 4, 20 * 60),
        "1gpulong": (16, 1, 14 * DAY),
        "allgpus": (48, 8, 21 * DAY),
        "1cpu": (1, None, 6 * 60 * 60),
        "deadline": (64, 8, 14 * DAY),
        "admintest": (96, 16, DAY),
    }


@pytest.mark.promise("AAU-063", "AAU-064")
def test_the_guides_batch_script_fits_the_defaults() -> None:
    cluster = cluster_at(AAU)
    assert [name for name, qos in cluster.qos.items() if qos.default] == ["normal"]
    assert cluster.scheduler.default_partition == "batch"
    assert (cluster.qos["normal"].max_wall or 0) >= DAY


@pytest.mark.promise("AAU-065", "AAU-066")
def test_it_is_the_pilot_only_and_values_from_elsewhere_are_marked() -> None:
    assert list(cluster_at(AAU).gpu_types) == ["v100"]
    lines = (AAU / "nodes.yml").read_text().splitlines()
    assert [line for line in lines if "nv-ai-01" in line and 'src: "L11 external"' in line]


@pytest.mark.promise("AAU-059")
def test_more_hardware_needs_only_added_lines_of_the_inventory(tmp_path: Path) -> None:
    kinds = {"t4": "Tesla T4", "a10": "A10", "a40": "A40"}
    types = "".join(f"  {name}: {{models: [{model}]}}\n" for name, model in kinds.items())
    nodes = "".join(
        f"  - {{name: new-{name}, address: 10.67.11.{at}, roles: [compute], hardware: dgx-2, gpus: {{{name}: 8}}}}\n"
        for at, name in enumerate(kinds, 1)
    )
    cluster = changed(AAU, tmp_path, ("gpu_types:\n", f"gpu_types:\n{types}"), ("\nnodes:\n", f"\nnodes:\n{nodes}"))
    for name in kinds:
        assert f"NodeName=new-{name}.srv.aau.dk " in slurm_conf(cluster)
        assert f"Type={name} " in gres_conf(cluster)
    assert set(cluster.partitions["batch"].nodes) == {"nv-ai-01", "nv-ai-03", *(f"new-{name}" for name in kinds)}
