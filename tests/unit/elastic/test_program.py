"""The service on a controller: with a folder as the cloud, and a fake scontrol that records its commands."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pace import until

#: A site's own driver: a file for each machine, with its state; a file that cannot be written cannot be switched.
DRIVER = """
import json, os, pathlib
class Node:
    def __init__(self, path):
        self.name, self.state, self.path = path.name, path.read_text().strip(), path
class Folder:
    def __init__(self, folder, key):
        if key != "secret":
            raise RuntimeError("wrong key")
        self.folder = pathlib.Path(folder)
    def list_nodes(self):
        return [Node(path) for path in self.folder.iterdir()]
    def start_node(self, node):
        if node.name == "broken":
            raise RuntimeError("ZONE_RESOURCE_POOL_EXHAUSTED\\nand more")
        node.path.write_text("running")
        return True
    def stop_node(self, node):
        node.path.write_text("stopped")
        return True
"""
SCONTROL = """#!/bin/sh
case $1 in
ping) echo "Slurmctld(primary) at ${CONTROLLER:-$(hostname)} is UP" ;;
show) cat "$FOLDER/nodes" ;;
*) echo "$*" >> "$FOLDER/sent" ;;
esac
"""


class Controller:
    """A controller in a folder: nodes `a` and `broken`, whose machines are off."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("bin", "cloud", "wishes"):
            (folder / name).mkdir()
        (folder / "bin" / "scontrol").write_text(SCONTROL)
        (folder / "bin" / "scontrol").chmod(0o755)
        (folder / "folder_cloud.py").write_text(DRIVER)
        (folder / "key.json").write_text('{"key": "secret"}')
        (folder / "sent").touch()
        for name in ("a", "broken"):
            (folder / "cloud" / name).write_text("stopped")
        self.slurm(a="IDLE+CLOUD+POWERED_DOWN", broken="IDLE+CLOUD+POWERED_DOWN")
        self.settings = {
            "driver": "folder_cloud:Folder",
            "arguments": {"folder": str(folder / "cloud")},
            "credentials": str(folder / "key.json"),
            "starting": 1,
            "boot_timeout": 300,
            "folder": str(folder / "wishes"),
            "machines": {"a": "a", "broken": "broken"},
        }

    def slurm(self, **states: str) -> None:
        """Set the states of nodes that scontrol shows."""
        lines = [f"NodeName={name} Arch=x State={state} ThreadsPerCore=1" for name, state in states.items()]
        (self.folder / "nodes").write_text("\n".join(lines))

    def wish(self, power: str, node: str) -> None:
        """Request power on or off, as slurmctld's programs do."""
        (self.folder / "wishes" / node).write_text(f"{power}\n")

    def state(self, node: str) -> str:
        return (self.folder / "cloud" / node).read_text()

    @property
    def sent(self) -> list[str]:
        """Return the commands that scontrol got."""
        return (self.folder / "sent").read_text().splitlines()

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        path = self.folder / "elastic.json"
        path.write_text(json.dumps(self.settings))
        root = Path(__file__).parents[3]
        modules = f"{root / 'gpupool' / 'programs'}:{root}:{self.folder}"
        env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "PYTHONPATH": modules}
        return [sys.executable, "-P", "-B", "-m", "elastic", *arguments, str(path)], {**env, "FOLDER": str(self.folder)}

    def check(self) -> tuple[int, str]:
        command, env = self.command("--check")
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip() + done.stderr

    @contextmanager
    def running(self, **more: str) -> Iterator[Path]:
        """Run the service meanwhile; yield the file of its journal."""
        command, env = self.command()
        journal = self.folder / "journal"
        with journal.open("w") as out:
            process = subprocess.Popen(command, env={**env, **more}, stdout=out, stderr=subprocess.STDOUT)
            try:
                yield journal
                assert process.poll() is None, journal.read_text()
            finally:
                process.kill()
                process.wait()


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    return Controller(tmp_path)


def test_a_node_is_switched_on_and_off_on_request_of_slurmctld(controller: Controller) -> None:
    with controller.running() as journal:
        controller.slurm(a="MIXED+CLOUD+POWERING_UP")
        controller.wish("on", "a")
        until(lambda: controller.state("a") == "running", "the machine is on", journal.read_text)
        controller.slurm(a="IDLE+CLOUD")
        controller.wish("off", "a")
        until(lambda: controller.state("a") == "stopped", "the machine is off", journal.read_text)
    assert controller.sent == []


def test_a_node_that_the_cloud_does_not_start_is_marked_with_the_reason(controller: Controller) -> None:
    with controller.running() as journal:
        controller.slurm(broken="MIXED+CLOUD+POWERING_UP")
        controller.wish("on", "broken")
        until(lambda: len(controller.sent) > 1, "it is marked", journal.read_text)
    reason = "Reason=gpupool: elastic: cannot be started: ZONE_RESOURCE_POOL_EXHAUSTED"
    down = f"update NodeName=broken State=DOWN {reason}"
    assert controller.sent == [down, "update NodeName=broken State=POWER_DOWN"]


def test_a_request_from_before_a_restart_is_carried_out(controller: Controller) -> None:
    controller.slurm(a="MIXED+CLOUD+POWERING_UP")
    controller.wish("on", "a")
    with controller.running() as journal:
        until(lambda: controller.state("a") == "running", "the machine is on", journal.read_text)


def test_a_backup_controller_switches_no_node(controller: Controller) -> None:
    controller.slurm(a="MIXED+CLOUD+POWERING_UP")
    controller.wish("on", "a")
    with controller.running(CONTROLLER="another") as journal:
        until(lambda: "this controller is not the active one" in journal.read_text(), "it says so")
    assert controller.state("a") == "stopped"


def test_a_cloud_that_does_not_answer_is_logged_and_its_nodes_time_out(controller: Controller) -> None:
    (controller.folder / "key.json").write_text('{"key": "other"}')
    controller.settings["boot_timeout"] = 1
    controller.slurm(a="MIXED+CLOUD+POWERING_UP")
    controller.wish("on", "a")
    with controller.running() as journal:
        until(lambda: controller.sent, "it is marked", journal.read_text)
    assert "cannot connect to folder_cloud:Folder: wrong key" in controller.sent[0]
    assert "secret" not in journal.read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot read {}: No such file or directory"),
        ("{", "{} is not JSON"),
        ("[]", "{} is not a JSON object"),
        ('{"key": "x"}', "cannot connect to folder_cloud:Folder: wrong key"),
        ('{"key": "secret"}', ""),
    ],
)
def test_the_check_names_the_reason_why_nodes_cannot_start(controller: Controller, text: str | None, says: str) -> None:
    file = controller.folder / "key.json"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert controller.check() == (int(bool(says)), says.format(file))


def test_the_check_names_machines_that_the_cloud_does_not_have(controller: Controller) -> None:
    (controller.folder / "cloud" / "a").unlink()
    assert controller.check() == (1, "the cloud has no machine a")
