"""Nodes of the database and of the state get the backup program and its timer; other nodes do not."""

import json
from pathlib import Path

from inventories import SMALL, changed, cluster_at

from gpupool.compile.programs import HOME, program
from gpupool.compile.system import backup

BACKUP = ("scheduler:", "slurm: {backup: {to: /srv/backup, keep: 3}}\nscheduler:")


def test_the_program_is_installed_with_its_settings_command_service_and_timer(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path / "backup", BACKUP)
    files = {file.path: file for file in backup.files(cluster, cluster.nodes["ctl"])}
    own = {file.path for file in program("backup")}
    assert own
    assert {*files} == {*own, backup.SETTINGS, backup.COMMAND, backup.SERVICE, backup.TIMER}
    assert HOME in files[backup.COMMAND].text
    settings = json.loads(files[backup.SETTINGS].text)
    assert (settings["to"], settings["keep"], settings["kinds"]) == ("/srv/backup", 3, ["database", "state"])
    assert backup.SETTINGS in files[backup.SERVICE].text


def test_nodes_without_a_backup_have_no_files_for_it(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path / "backup", BACKUP)
    assert list(backup.files(cluster, cluster.nodes["gpu-1"])) == []
    assert list(backup.files(cluster_at(SMALL), cluster_at(SMALL).nodes["ctl"])) == []
