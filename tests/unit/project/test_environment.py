"""`script/environment` makes a new .venv where the old one is out of date."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "script" / "environment"

BASE = getattr(sys, "_base_executable", sys.executable)

#: A Python outside .venv, with an empty environment in place of one from the network.
PYTHON = f"""#!/bin/sh
[ "$*" = "-m venv .venv" ] || exec {BASE} "$@"
mkdir -p .venv/bin
printf '#!/bin/sh\\n' > .venv/bin/pip
chmod +x .venv/bin/pip
"""


def test_python_is_not_that_of_the_deleted_environment(tmp_path: Path) -> None:
    for folder in ("script", ".venv/bin", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "script")
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / ".venv/bin/python3").symlink_to(sys.executable)
    (tmp_path / ".venv/stamp").write_text("of another lock\n")
    for name, text in {"python3": PYTHON, "ssh": "#!/bin/sh\n"}.items():
        (tmp_path / "outside" / name).write_text(text)
        (tmp_path / "outside" / name).chmod(0o755)
    path = os.pathsep.join([f"{tmp_path}/.venv/bin", f"{tmp_path}/outside", os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", ". script/environment; command -v pip; cat .venv/stamp"],
        cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pip, stamp = done.stdout.splitlines()
    assert pip == f"{tmp_path}/.venv/bin/pip"
    assert stamp != "of another lock"
