"""Plain pyinfra with an inventory of gpupool, and gpupool's facts and operations without one."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import INVENTORY, SMALL, copied

from gpupool.plain import groups_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "in-other-projects.md").read_text(encoding="utf-8")


def pyinfra(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pyinfra's own command line in an empty folder."""
    start = "from pyinfra_cli.main import main; main()"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYINFRA_PROGRESS": "off", "GPUPOOL_ON": "nodes"}
    return subprocess.run(
        [sys.executable, "-c", start, *arguments], cwd=place, env=env, capture_output=True, text=True, check=False
    )


def test_roles_and_gpu_types_are_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPOOL_ON", "nodes")
    groups = groups_of(INVENTORY / "example")
    names = ("login1", "control", "files", "a40-01", "rtx-01", "rtx-02")
    assert [host[0] for host in groups["nodes"]] == [f"@pool/{name}" for name in names]
    assert groups["compute"] == ["@pool/a40-01", "@pool/rtx-01", "@pool/rtx-02"]
    assert groups["database"] == ["@pool/control"]
    assert groups["rtx_6000"] == ["@pool/rtx-01", "@pool/rtx-02"]


def test_an_inventory_is_printed_with_its_groups(tmp_path: Path) -> None:
    done = pyinfra(tmp_path, "--json", str(INVENTORY / "example" / "inventory.py"), "debug-inventory")
    assert done.returncode == 0, done.stderr
    hosts = {host["name"]: host for host in json.loads(done.stdout)}
    assert {"compute", "a40", "nodes"} <= set(hosts["a40-01"]["groups"])
    assert hosts["a40-01"]["data"]["cluster"] == "example"
    assert hosts["a40-01"]["data"]["node"]["gpus"] == {"a40": 4}


def test_a_mistake_in_the_inventory_is_complaints_without_a_traceback(tmp_path: Path) -> None:
    site = copied(SMALL, tmp_path / "site", ("gpus: {a40: 8}", "gpus: {b40: 8}"))
    (site / "inventory.py").write_text((INVENTORY / "example" / "inventory.py").read_text())
    done = pyinfra(tmp_path, str(site / "inventory.py"), "debug-inventory")
    assert done.returncode != 0
    assert "b40" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_deploy_on_a_host_of_no_inventory_is_one_sentence(tmp_path: Path) -> None:
    done = pyinfra(tmp_path, "@local", str(ROOT / "deploys" / "site.py"), "--dry")
    assert done.returncode != 0
    assert "@local is not a node of an inventory" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_facts_of_the_page_are_printed(tmp_path: Path) -> None:
    commands = re.findall(r"^\$ pyinfra ((?:--json )?@local fact .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for words in commands:
        done = pyinfra(tmp_path, *words.split())
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_the_deploy_of_the_page_shows_its_changes(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "deploy.py").write_text(example)
    done = pyinfra(tmp_path, "--json", "@local", "deploy.py", "--dry")
    assert done.returncode == 0, done.stderr
    plan = {step["name"]: step for step in json.loads(done.stdout)["plan"]}
    assert list(plan) == ["Packages", "Groups", "Users", "Configuration", "Data", "Logins"]
    assert plan["Configuration"]["hosts_with_change"] == ["@local"]


def test_the_operations_of_the_page_exist() -> None:
    names = re.findall(r"`(\w+)\.(\w+)`", "\n".join(line for line in PAGE.splitlines() if line.startswith("| `")))
    assert len(names) > 15
    for module, name in names:
        assert callable(getattr(importlib.import_module(f"gpupool.operations.{module}"), name)), f"{module}.{name}"
