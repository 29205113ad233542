"""The controller, which is database and fileserver too."""

import pytest
from testinfra.host import Host

testinfra_hosts = ["ansible://control"]


@pytest.mark.parametrize("unit", ["munge", "mariadb", "slurmdbd", "slurmctld"])
def test_a_daemon_runs_now_and_after_a_reboot(host: Host, unit: str) -> None:
    assert host.service(unit).is_running
    assert host.service(unit).is_enabled


def test_there_is_no_password_to_the_database(host: Host) -> None:
    settings = host.file("/etc/slurm/slurmdbd.conf")
    assert settings.mode == 0o600
    assert not settings.contains("StoragePass")
