"""The examples of docs/accounting.md, run unchanged, with a fake sacctmgr that records its commands."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpupool.operations.accounting import difference, normal, read, script
from gpupool.slurm.keys.limits import ASSOC_FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "accounting.md"
SACCTMGR = r"""#!/bin/sh
case "$*" in
*"show cluster"*) echo gp ;;
*"show tres"*) printf 'cpu|\nmem|\ngres|gpu\n' ;;
*"show assoc"*) echo "gp|root||||1LIMITS" ; echo "gp|old|||root|1LIMITS" ;;
*"show user"*) echo "root|root|Administrator" ;;
*show*) ;;
*) echo "$*" >>"$0.log"; cat >>"$0.log" ;;
esac
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder for PATH with the three commands of Slurm."""
    for name, text in (
        ("sacctmgr", SACCTMGR.replace("LIMITS", "|" * (len(ASSOC_FIELDS) - 1))),
        ("squeue", "#!/bin/sh\n"),
        ("scontrol", "#!/bin/sh\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def example(kind: str) -> str:
    found = re.search(rf"^```python {kind}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert found
    return found[1]


def environment(path: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}


def test_the_operation_runs_in_a_deploy_of_plain_pyinfra(path: Path) -> None:
    (path / "deploy.py").write_text(example("deploy"))
    pyinfra = Path(sys.executable).parent / "pyinfra"
    command = [str(pyinfra), "-y", "@local", "deploy.py"]
    done = subprocess.run(command, cwd=path, env=environment(path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (path / "sacctmgr.log").read_text().splitlines() == [
        "-iQ add qos short MaxWall=2-00:00:00 MaxTRESPU=gres/gpu=5",
        "-iQ add account lab cluster=gp parent=root GrpTRES=cpu=64,gres/gpu=8",
        "-iQ add account students cluster=gp parent=lab",
        "-iQ load /dev/stdin",
        "Cluster - 'gp'",
        "Parent - 'lab'",
        "User - 'ada':DefaultAccount='lab':QOS='normal,short'",
        "User - 'bob':DefaultAccount='students':MaxJobs='4'",
        "Parent - 'students'",
        "User - 'bob':DefaultAccount='students'",
        "-iQ add coordinator account=lab names=ada",
        "-iQ delete account where name=old",
    ]


def test_the_functions_run_without_pyinfra(path: Path) -> None:
    def run(text: str) -> str:
        done = subprocess.run(["sh"], input=text, env=environment(path), capture_output=True, text=True, check=True)
        return done.stdout

    names: dict[str, Any] = {"run": run}
    exec(example("plain"), names)
    assert names["stays"] == {}
    assert (path / "sacctmgr.log").read_text().splitlines()[-1] == "-iQ delete account where name=old"


def test_a_refusal_of_slurmdbd_ends_the_run_in_one_line(path: Path) -> None:
    (path / "sacctmgr").write_text("#!/bin/sh\nprintf 'Unknown option: Foo\\n Use keyword\\n' >&2; exit 1\n")
    state = read("R|\ngpupool-end\n")
    assert state
    text = script(difference(state.entities, normal({"cluster": "gp", "qos": {"short": {}}})))
    done = subprocess.run(["sh"], input=text, env=environment(path), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ('slurmdbd refuses "sacctmgr -iQ add cluster gp": Unknown option: Foo Use keyword\n')
