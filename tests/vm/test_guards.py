"""Changes that a fileserver refuses, with the reason and without any loss."""

from collections.abc import Iterator

import pytest

from tests.vm.cluster import Changed, Stores

SERVER = "fs1"
DISKS = [f"/dev/disk/by-id/virtio-fs1-{number}" for number in (3, 4)]
PATIENCE = "/sys/module/zfs/parameters/zfs_vdev_open_timeout_ms"
FRESH = f"  pools:\n    fresh: {{server: fs1, vdevs: [{{kind: mirror, disks: [{', '.join(DISKS)}]}}]}}\n"


@pytest.fixture(scope="module", autouse=True)
def _as_before(stores: Stores) -> Iterator[None]:
    """Undo the change of each test by the next test's apply, and the last change here."""
    yield
    done = stores.apply("--limit", SERVER)
    assert done.returncode == 0, done.stdout


def refused(seen: Stores) -> str:
    """Apply to the server, which must fail; return the messages, in one line."""
    done = seen.apply("--limit", SERVER)
    assert done.returncode == 1, done.stdout
    return " ".join(done.stdout.split())


def pools(stores: Stores) -> list[str]:
    return stores.out(SERVER, "zpool list -Ho name").split()


def test_a_disk_with_any_content_is_refused_by_name(stores: Stores, changed: Changed) -> None:
    seen = changed("storage.yml", "  pools:\n", FRESH)
    try:
        stores.out(SERVER, f"mkswap -qL theses {DISKS[0]}")
        before = stores.out(SERVER, f"sha256sum < {DISKS[0]}")
        message = refused(seen)
        assert (
            f"disk {DISKS[0]} of pool fresh holds swap 'theses'; if it is no longer needed: wipefs -a {DISKS[0]}"
            in message
        )
        assert pools(stores) == ["tank"]
        assert stores.out(SERVER, f"sha256sum < {DISKS[0]}") == before
        # an empty disk is used, even if ZFS does not wait for udev to name the new partitions
        stores.out(SERVER, f"wipefs -qa {DISKS[0]} && echo 0 > {PATIENCE}")
        done = seen.apply("--limit", SERVER)
        assert done.returncode == 0, done.stdout
        assert pools(stores) == ["fresh", "tank"]
        assert stores.out(SERVER, f"cat {PATIENCE}") == "0", "what an admin has set is kept"
        assert seen.plan("--limit", SERVER) == (0, {})
        # exported: ZFS finds the pool by its labels on the disks; destroyed: the pool can still be recovered
        stores.out(SERVER, "zpool export fresh")
        done = seen.apply("--limit", SERVER)
        assert done.returncode == 0, done.stdout
        assert pools(stores) == ["fresh", "tank"]
        stores.out(SERVER, "zpool destroy fresh")
        assert "holds the ZFS destroyed pool fresh" in refused(seen)
    finally:
        stores.run(SERVER, f"zpool destroy fresh; echo 1000 > {PATIENCE}")
        for disk in DISKS:
            stores.run(SERVER, f"zpool labelclear -f {disk}-part1; wipefs -qa {disk}; partprobe {disk}")


def test_a_change_that_would_lose_data_is_refused_at_once(stores: Stores, changed: Changed) -> None:
    """A dataset that left the inventory, quotas below their usage, another place, and other disks."""
    vdev = "{kind: mirror, disks: [/dev/disk/by-id/virtio-fs1-1, /dev/disk/by-id/virtio-fs1-2]}"
    for old, new in (
        ("    flash1: {server: fs1, path: /tank/blue, fs: zfs, size: 256M}\n", ""),
        ("{flash1: flash1, scratch: scratch}", "{scratch: scratch}"),
        ("size: 512M", "size: 16M"),
        ("quota: 64M", "quota: 8M"),
        ("path: /tank/red,", "path: /data/red, dataset: tank/red,"),
    ):
        changed("storage.yml", old, new)
    seen = changed("storage.yml", vdev, f"{vdev}, {{kind: log, disks: [{DISKS[0]}]}}")
    try:
        stores.out(SERVER, "echo thesis > /tank/blue/thesis; head -c 30M /dev/urandom > /tank/red/much")
        stores.out(SERVER, "head -c 9M /dev/urandom > /tank/home/ann/much && chown ann: /tank/home/ann/much")
        stores.out(SERVER, "zpool sync tank")
        code, changes = seen.plan("--limit", SERVER)
        assert code == 3
        assert "Refused ZFS changes | tank/blue (refused)" in changes[SERVER]
        message = refused(seen)
        assert "tank/blue: no longer in the inventory; it is kept" in message
        assert "zfs destroy -r tank/blue" in message
        assert "tank/red quota: 16M is less than the 30." in message
        assert "tank/home userquota@20001: 8M is less than the 9." in message
        assert "tank/red mountpoint: it is /tank/red, wanted /data/red" in message
        assert f"pool tank lacks disks: disks are only added by hand: zpool add tank log {DISKS[0]}" in message
        assert stores.out(SERVER, "cat /tank/blue/thesis") == "thesis"
        assert "/tank/blue" not in stores.out(SERVER, "exportfs -s")
        read = "zfs get -Hpo value quota tank/red; zfs get -Hpo value userquota@20001,userquota@20002 tank/home"
        assert stores.out(SERVER, read).split() == [str(512 * 2**20), str(64 * 2**20), str(8 * 2**20)]
        assert stores.out(SERVER, "findmnt -no SOURCE /tank/red") == "tank/red"
        assert DISKS[0] not in stores.out(SERVER, "zpool status -P tank")
    finally:
        stores.run(SERVER, "rm -f /tank/blue/thesis /tank/red/much /tank/home/ann/much; zpool sync tank")


def test_files_are_not_hidden_by_a_new_dataset(stores: Stores, changed: Changed) -> None:
    new = "    scratch: {server: fs1, path: /export/scratch}\n"
    seen = changed("storage.yml", new, f"{new}    new: {{server: fs1, path: /tank/new, fs: zfs, size: 64M}}\n")
    try:
        stores.out(SERVER, "mkdir /tank/new && echo thesis > /tank/new/thesis")
        assert "where the dataset tank/new is to be mounted: it is not empty (thesis)" in refused(seen)
        assert stores.out(SERVER, "cat /tank/new/thesis; zfs list -Ho name -r tank") .split() == [
            "thesis", "tank", "tank/blue", "tank/home", "tank/red",
        ]  # fmt: skip
    finally:
        stores.run(SERVER, "rm -r /tank/new")
