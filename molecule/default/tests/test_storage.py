"""Mounts and links, on the nodes that people work on."""

from testinfra.host import Host

testinfra_hosts = ["ansible://login", "ansible://gpu-01"]


def test_exports_are_mounted_under_their_names(host: Host) -> None:
    said = host.check_output("df --output=source,size,target /mnt/projects | tail -n 1").split()
    assert said == ["control.molecule.example:/export/projects", str(50 * 2**30), "/mnt/projects"]
    assert host.mount_point("/home").exists


def test_links_lead_there(host: Host) -> None:
    assert host.file("/srv/projects").linked_to == "/mnt/projects"
    assert host.file("/srv/lab/share").linked_to == "/mnt/projects"
