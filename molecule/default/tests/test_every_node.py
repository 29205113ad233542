"""What holds on every node."""

from testinfra.host import Host


def test_munge_credentials_are_good(host: Host) -> None:
    assert "Success" in host.check_output("munge -n | unmunge | head -n 1")


def test_nothing_failed(host: Host) -> None:
    assert host.check_output("systemctl list-units --state=failed --plain --no-legend") == ""


def test_people_have_the_same_numbers(host: Host) -> None:
    assert (host.user("ada").uid, host.group("lab").gid) == (20001, 5001)
