"""The files that users' shells read: conda is available in a batch script, variables are set for each user."""

import re
import subprocess
from pathlib import Path

import pytest

from gpupool.cluster.load import load
from gpupool.compile.system.spaces import files, skeleton

INVENTORIES = Path(__file__).parents[2] / "inventory"
BLOCK = re.compile(r"^# >>> conda initialize >>>\n([\s\S]*?)# <<< conda initialize <<<\n", re.MULTILINE)


def bash(home: Path, script: str, *options: str) -> str:
    """Run a script like a batch job: not interactive, with HOME of the user."""
    words = ["bash", *options, "-euc", script]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in skeleton(load(INVENTORIES / "skynet")).items():
        (tmp_path / name).write_text(text)
    return tmp_path


def conda(home: Path) -> None:
    hook = home / "miniconda3" / "etc" / "profile.d" / "conda.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text("conda() { echo conda $*; }\n")


@pytest.mark.promise("SKY-109")
def test_a_batch_script_that_reads_bashrc_has_conda(home: Path) -> None:
    conda(home)
    assert bash(home, "source ~/.bashrc; conda activate my_env") == "conda activate my_env"


@pytest.mark.promise("SKY-109")
def test_conda_init_keeps_its_lines_where_batch_scripts_read_them(home: Path) -> None:
    """It replaces the lines between its marks if it finds them, and otherwise appends at the end."""
    text = (home / ".bashrc").read_text()
    written = "# >>> conda initialize >>>\nconda() { echo its own $*; }\n# <<< conda initialize <<<\n"
    assert len(BLOCK.findall(text)) == 1
    (home / ".bashrc").write_text(BLOCK.sub(written, text))
    assert bash(home, "source ~/.bashrc; conda activate my_env") == "its own activate my_env"


def test_lines_that_a_program_appends_are_read_by_batch_scripts_too(home: Path) -> None:
    with (home / ".bashrc").open("a") as file:
        file.write("export ADDED=yes\n")
    assert bash(home, "source ~/.bashrc; echo $ADDED") == "yes"


def test_users_get_their_prompt_and_batch_scripts_do_not(home: Path) -> None:
    show = "source ~/.bashrc; echo ${PS1-none}; shopt -q histappend && echo kept || echo lost"
    assert bash(home, show) == "none\nlost"
    assert bash(home, show, "-i").splitlines()[-1] == "kept"
    assert r"\u@\h" in bash(home, show, "-i")


def test_a_cluster_without_a_hook_has_debians_skeleton() -> None:
    assert skeleton(load(INVENTORIES / "aau-ai-cloud")) == {}


@pytest.mark.promise("SDU-013", "SDU-006")
def test_the_variable_of_a_user_space_has_the_users_directory(tmp_path: Path) -> None:
    cluster = load(INVENTORIES / "santos-dumont")
    (file,) = files(cluster, cluster.nodes["login"])
    (tmp_path / "id").write_text(
        '#!/bin/sh\ncase "$*" in -u) echo 20001;; -un) echo usuario1;; -gn) echo projeto;; esac\n'
    )
    (tmp_path / "id").chmod(0o755)
    (tmp_path / "spaces.sh").write_text(file.text)
    output = bash(tmp_path, f"PATH={tmp_path}:$PATH; . {tmp_path}/spaces.sh; echo $SCRATCH; set | grep ^gpupool_ || :")
    assert output == "/scratch/projeto/usuario1"


def test_root_has_no_user_space(tmp_path: Path) -> None:
    cluster = load(INVENTORIES / "santos-dumont")
    (file,) = files(cluster, cluster.nodes["login"])
    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    (tmp_path / "id").chmod(0o755)
    (tmp_path / "spaces.sh").write_text(file.text)
    assert bash(tmp_path, f"PATH={tmp_path}:$PATH; . {tmp_path}/spaces.sh; echo ${{SCRATCH-none}}") == "none"


def test_variables_are_set_where_the_space_is_mounted() -> None:
    cluster = load(INVENTORIES / "santos-dumont")
    assert {name for name, node in cluster.nodes.items() if [*files(cluster, node)]} == {
        node.name for node in cluster.having("head", "compute")
    }
