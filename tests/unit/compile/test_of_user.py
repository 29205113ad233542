"""Placeholders of users: Python and a shell fill in the same path."""

import subprocess
from pathlib import Path

import pytest
from inventories import STORED, changed

from gpupool.cluster.schema.base import of_user
from gpupool.compile import files_for
from gpupool.compile.of_user import for_double_quotes, shell_word
from gpupool.compile.system.spaces import VARIABLES, folders_for, tops_for

PATHS = (
    "/scratch/{user[0]}/{user}",
    "/scratch/{account}/{account[0]}/{id[0]}/{id}",
    "/home/{domain[0]}/{domain}/{user}",
    "/{user}x{user[0]}",
)
#: The shell variables that are set before a path is filled in.
KNOWN = (
    "gpupool_user=$1 gpupool_account=$2 gpupool_id=${1%%@*}; "
    'gpupool_domain=${1#"$gpupool_id"}; gpupool_domain=${gpupool_domain#@}'
)


def by_shell(shell: str, word: str, name: str) -> str:
    script = f"{KNOWN}; x={word}; printf '%s' \"$x\""
    return subprocess.run([shell, "-c", script, "x", name, "red"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("name", ["ann", "u-vision1@example.org", "x"])
@pytest.mark.parametrize("path", PATHS)
def test_a_shell_fills_in_the_same_path_as_python(path: str, name: str, shell: str) -> None:
    wanted = of_user(path, name, "red")
    assert by_shell(shell, shell_word(path), name) == wanted
    assert by_shell(shell, f'"{for_double_quotes(path)}"', name) == wanted


def test_the_first_letter_of_an_empty_text_is_empty() -> None:
    assert of_user("/home/{domain[0]}/{user}", "ann", "red") == "/home//ann"


def test_a_user_space_by_first_letters_is_the_same_on_disk_and_at_login(tmp_path: Path) -> None:
    path = "/mnt/scratch/{account}/{user[0]}/{user}"
    space = ('path: "/mnt/scratch/{account}/{user}"', f'env: SCRATCH, path: "{path}"')
    cluster = changed(STORED, tmp_path, space)
    server = cluster.nodes["fs2"]
    assert "/zfs/fast/red/a/ann" in {folder.path for folder in folders_for(cluster, server)}
    assert "/zfs/fast/red" in {top.path for top in tops_for(cluster, server)}
    (script,) = (file.text for file in files_for(cluster, cluster.nodes["ctl"]) if file.path == VARIABLES)
    output = subprocess.run(
        [
            "sh",
            "-c",
            'id() { case $1 in -u) echo 20001;; -un) echo ann;; -gn) echo red;; esac; }; . /dev/stdin; echo "$SCRATCH"',
        ],
        input=script,
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stdout == "/mnt/scratch/red/a/ann\n"
