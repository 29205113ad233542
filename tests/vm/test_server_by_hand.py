"""Manual changes on the server: a plan shows each of them, an apply undoes them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.vm.cluster import Stores

SERVER, CLIENT = "fs1", "node01"
MIB = 2**20
BY_HAND = (
    "zfs set quota=700M tank/blue; zfs set atime=on recordsize=64K tank/red",
    "zfs set compression=off tank; zfs set userquota@20001=99M tank/home",
    "zfs unmount -f tank/blue; exportfs -f",
    "mkdir -p /export/mine; echo '/export/mine 127.0.0.1(ro)' >> /etc/exports; exportfs -r",
    "exportfs -o rw,no_root_squash 127.0.0.1:/tank/red; exportfs -o rw 127.0.0.1:/export",
)


@dataclass(frozen=True)
class SetBack:
    """The output of a plan; whether a client could write to an unmounted dataset, and the files at its place."""

    shown: list[str]
    written: bool
    below: str


@pytest.fixture(scope="module")
def back(stores: Stores) -> Iterator[SetBack]:
    """All manual changes at once, shown by a plan and undone by an apply that leaves nothing to do."""
    try:
        stores.out(SERVER, f"set -e; {'; '.join(BY_HAND)}")
        written = stores.run(CLIENT, "timeout 6 touch /srv/blue-lab/flash1/lost", "bea").returncode == 0
        below = stores.out(SERVER, "ls -A /tank/blue")
        code, changes = stores.plan("--limit", SERVER)
        assert (code, set(changes)) == (3, {SERVER})
        done = stores.apply("--limit", SERVER)
        assert done.returncode == 0, done.stdout
        assert stores.plan("--limit", SERVER) == (0, {})
        yield SetBack(changes[SERVER], written, below)
    finally:
        stores.run(SERVER, "sed -i '\\|^/export/mine|d' /etc/exports; exportfs -r; rmdir /export/mine")
        stores.run(SERVER, "zfs inherit recordsize tank/red; zfs mount tank/blue; exportfs -f")


def test_every_change_is_shown_by_its_name(back: SetBack) -> None:
    # the inventory sets neither recordsize nor /export/mine
    assert back.shown[:6] == [
        "Datasets | tank compression", "Datasets | tank/blue mounted", "Datasets | tank/blue quota",
        "Datasets | tank/home userquota@20001", "Datasets | tank/red atime", "Spaces | /tank/blue",
    ]  # fmt: skip
    assert sorted(back.shown[6:]) == ["NFS exports | /export", "NFS exports | /tank/red"]


@pytest.mark.usefixtures("back")
def test_properties_of_the_inventory_are_restored_and_others_kept(stores: Stores) -> None:
    assert stores.zfs("quota", "tank/blue") == str(256 * MIB)
    assert stores.zfs("atime,compression,recordsize", "tank/red").split() == ["off", "lz4", "65536"]
    assert stores.out(SERVER, "zfs get -Ho source atime tank/red") == "inherited from tank"
    assert stores.zfs("userquota@20001", "tank/home") == str(64 * MIB)


@pytest.mark.usefixtures("back")
def test_a_manual_export_is_withdrawn_and_lines_of_other_files_are_kept(stores: Stores) -> None:
    given = [line.split()[0] for line in stores.out(SERVER, "grep 127.0.0.1 /var/lib/nfs/etab").splitlines()]
    assert given == ["/export/mine"]


def test_a_dataset_that_is_not_mounted_is_not_exported(stores: Stores, back: SetBack) -> None:
    """Clients would write below its mount point, on the server's own disk."""
    assert (back.written, back.below) == (False, "")
    assert stores.out(SERVER, "findmnt -no SOURCE /tank/blue") == "tank/blue"
