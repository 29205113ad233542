"""`slurm.left`: keys of a group are the site's alone, and what counts on them does not act."""

from pathlib import Path
from typing import get_args

import pytest
from inventories import SMALL, changed, copied

from gpupool.cluster.load import examine, load
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.scheduling import Left
from gpupool.compile.slurm import arbiter, submit
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.slurm.keys.tables import of_groups

LABS = (
    ("red, kind: lab, gid: 5001, contributed_gpus: 10", "red, kind: group, gid: 5001"),
    ("blue, kind: lab, gid: 5002, contributed_gpus: 6", "blue, kind: group, gid: 5002"),
)
MEMORY = "default_memory: {per_gpu: 30G, per_cpu: 2G}, max_memory: {per_gpu: 60G, per_cpu: 2G}"
ALONE = (("network: 10.90.0.0/16}", "network: 10.90.0.0/16, manage: [slurm, accounts]}"),)


def leaving(tmp_path: Path, left: list[str], parameters: str = "{}", cgroup: str = "{}") -> Cluster:
    """Return the small cluster without labs, with some groups left, and with parameters."""
    slurm = f"slurm: {{left: [{', '.join(left)}], parameters: {parameters}, cgroup: {{parameters: {cgroup}}}}}\n"
    return changed(SMALL, tmp_path, *LABS, *ALONE, (MEMORY, "allocate: thread"), ("scheduler:", f"{slurm}scheduler:"))


def keys(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return {key.lower(): value for key, _, value in (line.partition("=") for line in lines)}


@pytest.mark.parametrize("group", get_args(Left))
def test_no_key_of_a_group_is_written_and_all_others_stay(group: str, tmp_path: Path) -> None:
    whole, part = leaving(tmp_path / "a", []), leaving(tmp_path / "b", [group])
    before, after = keys(slurm_conf(whole)), keys(slurm_conf(part))
    theirs = of_groups("slurm_conf", [group])
    assert after.keys() & theirs == set()
    # max_script_size is of the plugin
    rest = before.keys() - theirs - ({"schedulerparameters"} if group == "submit" else set())
    rest -= {"nodename"} if group == "gpus" else set()  # a GPU's type is no feature then
    assert {key: after.get(key) for key in rest} == {key: before[key] for key in rest}
    assert theirs & before.keys() or group in ("memory", "submit", "preemption", "limits")  # keys of partitions
    assert keys(cgroup_conf(part)).keys() & of_groups("cgroup", [group]) == set()


def test_the_sites_value_stands_as_it_is_even_of_a_list(tmp_path: Path) -> None:
    parameters = "{SchedulerParameters: defer, TaskPlugin: task/none, AccountingStorageEnforce: none, PrologFlags: X11}"
    cluster = leaving(tmp_path, ["order", "cgroups", "enforce", "steps"], parameters, "{ConstrainCores: no}")
    found = keys(slurm_conf(cluster))
    values = [found[key] for key in ("schedulerparameters", "taskplugin", "accountingstorageenforce", "prologflags")]
    assert values == ["defer", "task/none", "none", "X11"]
    assert keys(cgroup_conf(cluster))["constraincores"] == "no"


def test_the_sites_preemption_stands_as_it_is_in_partitions_too(tmp_path: Path) -> None:
    mode = ("max_time: 2d\n", "max_time: 2d\n    parameters: {PreemptMode: CANCEL, GraceTime: 60}\n")
    slurm = "slurm: {left: [preemption], parameters: {PreemptType: preempt/qos, PreemptMode: REQUEUE}}\nscheduler:"
    text = slurm_conf(changed(SMALL, tmp_path, *LABS, *ALONE, mode, ("scheduler:", slurm)))
    assert {"preempttype": "preempt/qos", "preemptmode": "REQUEUE"}.items() <= keys(text).items()
    line = next(line for line in text.splitlines() if "PreemptMode=CANCEL" in line)
    assert line.startswith("PartitionName=")
    assert "GraceTime=60" in line


def test_comments_of_keys_that_are_left_are_not_written(tmp_path: Path) -> None:
    whole, part = leaving(tmp_path / "a", []), leaving(tmp_path / "b", ["cgroups"], cgroup="{ConstrainCores: no}")
    gone = {*slurm_conf(whole).splitlines()} - {*slurm_conf(part).splitlines()}
    assert [line for line in gone if line.startswith("#")] == [
        "# Jobs: tracked by control groups, allocated by logical CPU"
    ]
    comments = [line for line in cgroup_conf(part).splitlines() if line.startswith("#")]
    assert comments == cgroup_conf(whole).splitlines()[:1]


def test_a_key_that_the_plain_check_refuses_is_accepted_only_where_its_group_is_left(tmp_path: Path) -> None:
    assert keys(slurm_conf(leaving(tmp_path / "a", ["place"], "{SlurmUser: root}")))["slurmuser"] == "root"
    with pytest.raises(Exception, match="SlurmUser cannot be set here"):
        leaving(tmp_path / "b", ["cgroups"], "{SlurmUser: root}")


def test_gpus_are_as_the_site_has_them_in_slurm_conf_and_gres_conf(tmp_path: Path) -> None:
    gres = "Name=gpu File=/dev/nvidia[0-7]\n"
    typed = "gpus: {a40: 8}"
    plain = ("gpus: {a40: 8}", "gpus: {a40: 8}, parameters: {Gres: 'gpu:8'}")
    folder = copied(SMALL, tmp_path, *LABS, *ALONE, plain, ("scheduler:", "slurm: {left: [gpus]}\nscheduler:"))
    assert gres_conf(load(folder)) == "# the site has no lines\n"
    (folder / "slurm").mkdir()
    (folder / "slurm" / "gres.conf").write_text(gres)
    cluster = load(folder)
    assert gres_conf(cluster) == gres
    line = next(line for line in slurm_conf(cluster).splitlines() if line.startswith("NodeName=gpu-[1-2]"))
    assert "Gres=gpu:8 " in f"{line} "
    assert "Feature=" not in line
    file = folder / "inventory.yml"
    file.write_text(file.read_text().replace("left: [gpus]", "left: []").replace(plain[1], typed))
    assert [located.complaint.message for located in examine(folder).errors] == [
        "slurm/gres.conf has no effect: gpupool writes gres.conf"
    ]


def test_the_plugin_is_the_sites_own_file_or_none(tmp_path: Path) -> None:
    cluster = leaving(tmp_path, ["submit"])
    assert submit.job_submit_lua(cluster) is None
    assert not submit.wanted(cluster)
    assert submit.wanted(leaving(tmp_path / "b", []))


@pytest.mark.parametrize("group", ["cgroups", "enforce", "submit", "order", "select", "gpus"])
def test_the_arbiter_does_not_act_without_what_it_counts_on(group: str, tmp_path: Path) -> None:
    preempting = ("max_time: 2d\n", "max_time: 2d\n    preemptable: true\n")
    for left, acts in (("[]", True), (f"[{group}]", False)):
        text = ("scheduler:", f"slurm: {{left: {left}}}\nscheduler:")
        cluster = changed(SMALL, tmp_path / left, *LABS, *ALONE, preempting, text)
        assert (arbiter.settings(cluster) is not None) == acts
