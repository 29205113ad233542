"""sbash: its text, and its call of srun, with a fake srun in PATH that prints its arguments."""

import os
import subprocess
from pathlib import Path

import pytest
from inventories import cluster_at

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.tools import Tool
from gpupool.compile import files_of
from gpupool.compile.system.tools import sbash

ROOT = Path(__file__).parents[4]
INVENTORIES = sorted(path.parent.name for path in (ROOT / "inventory").glob("*/inventory.py"))


class Sbash:
    """sbash in a separate folder."""

    def __init__(self, folder: Path, text: str) -> None:
        self.path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        (folder / "sbash").write_text(text)
        (folder / "srun").write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\nexit 7\n')
        for name in ("sbash", "srun"):
            (folder / name).chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run it with these arguments."""
        command = ["sbash", *arguments]
        env = {**self.path, **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    def asks(self, *arguments: str) -> list[str]:
        """Return the arguments of srun, sorted, without the constant ones."""
        done = self.run(*arguments)
        assert done.returncode == 7, f"srun's own exit status: {done.stderr}"
        asked = done.stdout.splitlines()
        assert asked[-4:-1] == ["--pty", "bash", "-c"]
        assert "--nodes=1" in asked
        return sorted(set(asked[:-4]) - {"--nodes=1"})


@pytest.fixture
def tool(skynet: Cluster, tmp_path: Path) -> Sbash:
    file = {file.path: file for file in files_of(skynet, skynet.nodes["sky1"], "tools")}["/usr/local/bin/sbash"]
    assert (file.mode, file.owner) == ("0755", "root")
    return Sbash(tmp_path, file.text)


@pytest.mark.promise("SKY-110")
@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ("", "--cpus-per-task=6 --gres=gpu:1 --partition=short"),
        ("-g a40", "--cpus-per-task=6 --gres=gpu:a40:1 --partition=short"),
        ("-g rtx_6000", "--cpus-per-task=6 --gres=gpu:rtx_6000:1 --partition=short"),
        ("--gpu=2080_ti --gpus 2", "--cpus-per-task=12 --gres=gpu:2080_ti:2 --partition=short"),
        ("-p debug", "--cpus-per-task=6 --gres=gpu:1 --partition=debug"),
        ("-p overcap -A overcap", "--account=overcap --cpus-per-task=6 --gres=gpu:1 --partition=overcap"),
        ("-p short,user-overcap -c 3", "--cpus-per-task=3 --gres=gpu:1 --partition=short,user-overcap"),
        ("-G 0", "--cpus-per-task=6 --partition=short"),
        ("-w clippy -t 1-0", "--cpus-per-task=6 --gres=gpu:1 --nodelist=clippy --partition=short --time=1-0"),
        ("-x a,b -m 64G", "--cpus-per-task=6 --exclude=a,b --gres=gpu:1 --mem=64G --partition=short"),
        ("-q long -J x", "--cpus-per-task=6 --gres=gpu:1 --job-name=x --partition=short --qos=long"),
        ("-- --x11 --comment=hello", "--comment=hello --cpus-per-task=6 --gres=gpu:1 --partition=short --x11"),
    ],
)
def test_sbash_calls_srun_with_these_arguments(tool: Sbash, arguments: str, asked: str) -> None:
    assert tool.asks(*arguments.split()) == asked.split()


@pytest.mark.promise("SKY-111", "SKY-112")
def test_help_lists_all_options(tool: Sbash) -> None:
    done = tool.run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("gpu", "gpus", "cpus", "mem", "partition", "account", "qos", "time", "nodelist", "exclude", "help"):
        assert f"--{option} " in done.stdout
    assert "titan_x, 2080_ti, rtx_6000, a40" in done.stdout
    assert "sbash -p overcap -A overcap" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("-g", "v100"), "sbash: there are no GPUs of type v100; there are: titan_x 2080_ti rtx_6000 a40\n"),
        (("-G", "two"), "sbash: --gpus two is not a number\n"),
        (("--gpu",), "sbash: option '--gpu' requires an argument\nsbash: sbash --help lists the options\n"),
        (("--fast",), "sbash: unrecognized option '--fast'\nsbash: sbash --help lists the options\n"),
    ],
)
def test_an_invalid_option_is_an_error_and_starts_no_job(
    tool: Sbash, arguments: tuple[str, ...], complaint: str
) -> None:
    done = tool.run(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", complaint)


def test_sbash_within_a_job_is_refused(tool: Sbash) -> None:
    done = tool.run(SLURM_JOB_ID="12")
    assert (done.returncode, done.stderr) == (2, "sbash: this shell is in job 12 already: leave it first\n")


def test_arguments_with_blanks_are_passed_unchanged(tool: Sbash) -> None:
    assert "--job-name=a b $(id) 'c'" in tool.asks("-J", "a b $(id) 'c'")


def test_defaults_come_from_the_inventory(skynet: Cluster, tmp_path: Path) -> None:
    plain = Sbash(tmp_path, sbash(skynet, Tool(name="sbash", where="@head")))
    assert plain.asks() == ["--cpus-per-task=1", "--gres=gpu:1"]
    options = {"gpus": 2, "gpu": "a40", "cpus": 15, "partition": "it's"}
    given = Sbash(tmp_path, sbash(skynet, Tool(name="sbash", where="@head", options=options)))
    assert given.asks() == ["--cpus-per-task=30", "--gres=gpu:a40:2", "--partition=it's"]


@pytest.mark.parametrize("name", INVENTORIES)
def test_sbash_is_on_the_nodes_of_the_inventory_only(name: str) -> None:
    cluster = cluster_at(ROOT / "inventory" / name)
    where = {node for tool in cluster.tools if tool.name == "sbash" for node in cluster.select(tool.where)}
    files = {name: {file.path for file in files_of(cluster, node, "tools")} for name, node in cluster.nodes.items()}
    assert where == {name for name, paths in files.items() if "/usr/local/bin/sbash" in paths}
