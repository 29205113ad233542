"""The site's own files in the folder `slurm` reach Slurm unchanged."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import stand_ins
from inventories import SMALL, copied
from submitted import LUAS, Plugin

from gpupool.cluster.load import examine, load
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.scheduling import Scheduler
from gpupool.compile import files_for
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.operations.daemon_checks import has_programs

TIMER = ("scheduler:", 'timers: [{job: shm-clean, where: "@compute", when: job-end}]\nscheduler:')


def with_files(folder: Path, files: dict[str, str], *replaced: tuple[str, str]) -> Path:
    copied(SMALL, folder, *replaced)
    (folder / "slurm").mkdir()
    for name, text in files.items():
        (folder / "slurm" / name).write_bytes(text.encode())
    return folder


def put(cluster: Cluster, node: str) -> dict[str, str]:
    return {file.path: file.text for file in files_for(cluster, cluster.nodes[node])}


def test_spank_lines_and_a_topology_are_copied_unchanged(tmp_path: Path) -> None:
    spank = "# ours\noptional /usr/lib/spank/demo.so minimum=5\n"
    tree = "SwitchName=a Nodes=gpu-[1-2]\n"
    wanted = ("scheduler:", "slurm: {parameters: {TopologyPlugin: topology/tree}}\nscheduler:")
    cluster = load(with_files(tmp_path, {"plugstack.conf": spank, "topology.conf": tree}, wanted))
    files = put(cluster, "ctl")
    assert files["/etc/slurm/plugstack.conf"] == spank
    assert files["/etc/slurm/topology.conf"] == tree


def test_programs_around_jobs_run_with_ours_in_the_order_of_names(tmp_path: Path) -> None:
    program = "#!/bin/sh\necho '{{ x }}'\n"
    cluster = load(with_files(tmp_path / "both", {"prolog-scratch": program}, TIMER))
    files = put(cluster, "gpu-1")
    folder = "/etc/slurm/gpupool/prolog.d"
    assert [path for path in files if path.startswith(folder)] == [f"{folder}/00-gpupool", f"{folder}/scratch"]
    assert files["/etc/slurm/gpupool/site/prolog-scratch"] == program
    assert has_programs(files), "they are tried"
    # the program before the file that runs it
    assert list(files).index("/etc/slurm/gpupool/site/prolog-scratch") < list(files).index(f"{folder}/scratch")
    assert files[f"{folder}/00-gpupool"] == files["/etc/slurm/gpupool/prolog"]
    lines = slurm_conf(cluster).splitlines()
    assert f"Prolog={folder}/*" in lines
    assert "Epilog=/etc/slurm/gpupool/epilog" in lines
    alone = load(with_files(tmp_path / "alone", {"epilog-scratch": program}))
    assert [line for line in slurm_conf(alone).splitlines() if "log=" in line.lower() and "Pro" in line] == []
    assert [path for path in put(alone, "gpu-1") if "epilog.d" in path] == ["/etc/slurm/gpupool/epilog.d/scratch"]
    assert "Epilog=/etc/slurm/gpupool/epilog.d/*" in slurm_conf(alone).splitlines()


STAND_INS = {name: f'echo {name} "$@" >> "$RAN"' for name in ("logger", "scontrol")}


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ('#!/bin/sh\n[ "$SLURM_JOB_ID" = 7 ] && [ $# = 0 ]\n', 0),
        ("#!/bin/sh\nexit 3\n", 3),
        ("#!/opt/no-interpreter\n", 127),
    ],
)
def test_a_sites_program_that_fails_is_named(program: str, status: int, tmp_path: Path) -> None:
    cluster = load(with_files(tmp_path / "site", {"epilog-scratch": program}))
    stand_ins.put(STAND_INS, tmp_path / "bin")
    own, runner = tmp_path / "epilog-scratch", tmp_path / "runner"
    files = put(cluster, "gpu-1")
    own.write_text(files["/etc/slurm/gpupool/site/epilog-scratch"])
    text = files["/etc/slurm/gpupool/epilog.d/scratch"].replace("/etc/slurm/gpupool/site", str(tmp_path))
    runner.write_text(text.replace("PATH=", f"PATH={tmp_path}/bin:"))
    for file in (own, runner):
        file.chmod(0o755)
    ran = tmp_path / "ran"
    environ = {"RAN": str(ran), "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "gpu-1", "PATH": "/usr/bin:/bin"}
    assert subprocess.run([runner], env=environ, check=False, stderr=subprocess.DEVNULL).returncode == status
    why = f"epilog-scratch failed with exit status {status}"
    said = [
        f"logger -t gpupool-epilog -- job 7: {why}",
        f"scontrol update nodename=gpu-1 state=drain reason={why}",
    ]
    assert (ran.read_text().splitlines() if ran.exists() else []) == (said if status else [])


FRAGMENT = """\
local text = "]] [==[ ]=] é"
rules, slurm.SUCCESS, ipairs = nil, 7, nil
string.format = nil
function slurm_job_submit(job, partitions, uid)
  if job.name == "bad" then
    slurm.log_user("no")
    return slurm.ESLURM_ACCOUNTING_POLICY
  elseif job.name == "broken" then
    error("oops")
  elseif job.name == "text" then
    job.comment = text
  end
end
"""


@pytest.mark.parametrize("lua", LUAS, ids=lambda lua: lua.__name__)
def test_the_sites_fragment_runs_first_and_its_errors_break_no_rule(lua: object, tmp_path: Path) -> None:
    text = job_submit_lua(load(with_files(tmp_path, {"job_submit.lua": FRAGMENT})))
    assert text is not None
    assert FRAGMENT in text
    plugin = Plugin(text, lua)  # type: ignore[arg-type]
    refused = plugin.submit(name="bad")
    assert not refused.accepted
    assert refused.told == ["no"]
    broken = plugin.submit(name="broken")
    assert broken.accepted
    assert any("oops" in line for line in broken.logged)
    assert plugin.submit(name="text").set["comment"] == "]] [==[ ]=] é"
    # our own rule is called after it
    assert not plugin.submit(bitflags=256).accepted


def test_a_fragment_alone_makes_a_plugin(tmp_path: Path) -> None:
    own = "function slurm_job_submit() return slurm.SUCCESS end\n"
    cluster = load(with_files(tmp_path, {"job_submit.lua": own}))
    nodes = {name: replace(node, gpus={}) for name, node in cluster.nodes.items()}
    plain = replace(cluster, nodes=nodes, nodes_with_rights=frozenset(), scheduler=Scheduler())
    assert "JobSubmitPlugins=lua" in slurm_conf(plain)
    assert job_submit_lua(replace(plain, attached={})) is None
    text = job_submit_lua(plain)
    assert text is not None
    assert Plugin(text).submit().accepted


def test_files_that_slurm_would_refuse_are_named_with_the_line(tmp_path: Path) -> None:
    files = {
        "plugstack.conf": "optional a.so\ninclude /etc/x/*\n",
        "prolog-a": "echo\n",
        "epilog-b": "#!/bin/sh\r\n",
        "job_submit.lua": "return",
        "slurm.conf": "x\n",
    }
    folder = with_files(tmp_path / "site", files)
    (tmp_path / "secret").write_text("x\n")
    (folder / "slurm" / "topology.conf").symlink_to(tmp_path / "secret")
    found = [str(complaint).removeprefix(f"{folder}/slurm/") for complaint in examine(folder).open]
    assert [line.split(" (")[0] for line in found] == [
        "epilog-b:1: error: contains '\\r'",
        "job_submit.lua:1: error: the last line has no line feed",
        "plugstack.conf:2: error: is not `required PLUGIN` or `optional PLUGIN`",
        "prolog-a:1: error: has no interpreter line",
        "slurm.conf:1: error: gpupool knows no file of this name",
        "topology.conf:1: error: cannot be read: a link to a file outside the inventory",
    ]


def test_a_topology_names_compute_nodes(tmp_path: Path) -> None:
    wanted = ("scheduler:", "slurm: {parameters: {TopologyPlugin: topology/tree}}\nscheduler:")
    folder = with_files(tmp_path / "a", {"topology.conf": "SwitchName=a Nodes=gpu-[1-3]\n"}, wanted)
    assert [error.complaint.message for error in examine(folder).errors] == [
        "slurm/topology.conf:1: 'gpu-3' is not a compute node"
    ]
    unused = with_files(tmp_path / "b", {"topology.conf": "SwitchName=a Nodes=gpu-[1-2]\n"})
    assert [error.complaint.message for error in examine(unused).errors] == ["slurm/topology.conf has no effect"]
