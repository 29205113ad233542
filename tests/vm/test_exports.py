"""Exports of a fileserver's kernel: each client's access."""

import pytest

from tests.vm.cluster import Stores

SERVER, CLIENT = "fs1", "node01"


def address(stores: Stores, node: str) -> str:
    return stores.cluster.nodes[node].address or ""


@pytest.mark.promise("SKY-083")
def test_exports_are_accessible_for_their_clients_only(stores: Stores) -> None:
    table = [line.split("\t") for line in stores.out(SERVER, "cat /var/lib/nfs/etab").splitlines()]
    client = address(stores, CLIENT)
    assert {path: given.partition("(")[0] for path, given in table} == dict.fromkeys(
        ("/tank/red", "/tank/blue", "/tank/home", "/export/scratch"), client
    )
    for _, given in table:
        assert {"rw", "sync", "root_squash", "no_subtree_check", "crossmnt"} <= set(
            given.rstrip(")").split("(")[1].split(",")
        )
    assert client in stores.out(SERVER, "exportfs -v")


def test_nfsd_uses_4_2_and_has_threads_by_its_cpus(stores: Stores) -> None:
    versions = stores.out(SERVER, "cat /proc/fs/nfsd/versions").split()
    assert {"-3", "+4.2"} <= set(versions)
    assert stores.out(SERVER, "cat /proc/fs/nfsd/threads") == str(max(8, 8 * stores.cluster.nodes[SERVER].cpus))


@pytest.mark.promise("SKY-083")
def test_root_of_a_client_has_no_rights_on_the_server(stores: Stores) -> None:
    try:
        stores.out(CLIENT, "mkdir -p /srv/red-lab/share/ann && umask 077 && echo 7 > /srv/red-lab/share/ann/own", "ann")
        for command in ("touch /coc/pskynet1/roots", "cat /coc/pskynet1/ann/own", "rm -f /coc/pskynet1/ann/own"):
            done = stores.run(CLIENT, command)
            assert done.returncode != 0, command
            assert "Permission denied" in done.stderr
        assert stores.out(CLIENT, "cat /srv/red-lab/share/ann/own", "ann") == "7"
    finally:
        stores.run(SERVER, "rm -rf /tank/red/ann")


@pytest.mark.promise("SKY-083")
def test_a_host_outside_the_list_is_refused(stores: Stores) -> None:
    """The server itself is such a host: only its clients are in the list."""
    mount = "mkdir -p /mnt/try && timeout 60 mount -t nfs4 -o vers=4.2 127.0.0.1:/tank/red /mnt/try"
    try:
        done = stores.run(SERVER, mount)
        assert done.returncode != 0
        assert "denied" in done.stderr or "No such file" in done.stderr
        stores.out(SERVER, f"exportfs -o rw 127.0.0.1:/tank/red && {mount} && umount /mnt/try")
    finally:
        stores.run(SERVER, "umount /mnt/try; exportfs -u 127.0.0.1:/tank/red")
