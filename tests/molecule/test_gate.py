"""The molecule scenario as a gate: it must fail on an error. A fake gpupool is used, so no container starts."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = Path(__file__).parents[2] / "molecule"
PRETENDS = """#!{python}
import json, pathlib, sys
if "up" in sys.argv:
    config = pathlib.Path(__file__).with_name("ssh_config")
    config.write_text("")
    print(json.dumps({{"kept": [], "state": {{"ssh_config": str(config)}}}}))
elif "apply" in sys.argv:
    print({answer!r})
    sys.exit({code})
elif "verify" in sys.argv:
    sys.exit({code})
"""


def molecule(place: Path, answer: str, code: int, *steps: str) -> subprocess.CompletedProcess[str]:
    """Run these steps of the scenario with a fake gpupool whose every apply gives this answer."""
    shutil.copytree(SCENARIO, place / "molecule", ignore=shutil.ignore_patterns("__pycache__"))
    program = place / "gpupool"
    program.write_text(PRETENDS.format(python=sys.executable, answer=answer, code=code))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    settings = place / "molecule" / "default" / "vars.yml"
    other_settings = [line for line in settings.read_text().splitlines() if not line.startswith("gpupool:")]
    settings.write_text("\n".join([f"gpupool: {program}", *other_settings, ""]))
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    env["MOLECULE_EPHEMERAL_DIRECTORY"] = str(place / "ephemeral")
    for step in steps:
        done = subprocess.run(["molecule", step], cwd=place, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            break
    return done


def test_an_apply_that_always_changes_something_is_not_idempotent(tmp_path: Path) -> None:
    done = molecule(tmp_path, '{"changed": true, "ok": true}', 0, "converge", "idempotence")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Idempotence test failed" in output, output


@pytest.mark.parametrize("answer", ['{"changed": true, "ok": false}', ""], ids=["with-an-answer", "without"])
def test_an_apply_that_fails_stops_the_scenario(tmp_path: Path, answer: str) -> None:
    done = molecule(tmp_path, answer, 1, "converge")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Idempotence" not in output
    assert "non-zero return code" in output, output


@pytest.mark.parametrize("code", [0, 1])
def test_the_step_verify_fails_exactly_if_gpupool_verify_fails(tmp_path: Path, code: int) -> None:
    assert bool(molecule(tmp_path, "", code, "verify").returncode) == bool(code)
