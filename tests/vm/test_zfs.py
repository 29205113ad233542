"""ZFS on a fileserver: the pools and datasets of the inventory exist, stay, and are maintained by timers."""

import pytest
from pace import until

from tests.vm.cluster import Stores

SERVER, CLIENT = "fs1", "node01"
MIB = 2**20
MOUNTS = "/coc/pskynet1/ /coc/flash1/ /coc/scratch/ /home/"


def snapshots(stores: Stores, of: str) -> list[str]:
    names = stores.out(SERVER, f"zfs list -Ht snapshot -o name -d 1 {of}").split()
    return [name.partition("@")[2] for name in names]


def forget_snapshots(stores: Stores) -> None:
    """Destroy the snapshots of tank/red; a snapshot that the client has opened is in use until it is released."""
    stores.run(CLIENT, "umount /coc/pskynet1/.zfs/snapshot/*")
    for name in snapshots(stores, "tank/red"):
        stores.out(SERVER, f"zfs destroy tank/red@{name}")


@pytest.mark.promise("SKY-083")
def test_a_mirror_of_two_disks_contains_the_datasets_of_the_inventory(stores: Stores) -> None:
    disks = [line.split()[0] for line in stores.out(SERVER, "zpool status -P tank").splitlines() if "/dev/" in line]
    assert disks == ["/dev/disk/by-id/virtio-fs1-1-part1", "/dev/disk/by-id/virtio-fs1-2-part1"]
    rows = stores.out(SERVER, "zfs list -Hpo name,quota,mountpoint,mounted").splitlines()
    assert [row.split("\t") for row in rows] == [
        ["tank", "0", "/tank", "yes"],
        ["tank/blue", str(256 * MIB), "/tank/blue", "yes"],
        ["tank/home", str(1024 * MIB), "/tank/home", "yes"],
        ["tank/red", str(512 * MIB), "/tank/red", "yes"],
    ]
    for name in ("tank", "tank/red"):
        assert [stores.zfs(key, name) for key in ("compression", "atime", "acltype")] == ["lz4", "off", "posix"]
    assert stores.out(SERVER, "findmnt -no OPTIONS /tank/red | tr , '\\n' | grep xattr") == "xattr"
    assert stores.zfs("userquota@20001", "tank/home") == str(64 * MIB)


@pytest.mark.promise("SKY-052", "SKY-099")
def test_a_full_home_delays_no_other_user_and_can_be_emptied(stores: Stores) -> None:
    try:
        # ZFS counts a user's files when it writes them to disk, a few seconds later
        stores.out(CLIENT, "head -c 66M /dev/urandom > ~/big && sync ~/big", "ann")
        stores.out(SERVER, "zpool sync tank")
        for text in ("head -c 1M /dev/urandom >> ~/big && sync ~/big", "echo more > ~/more && sync ~/more"):
            done = stores.run(CLIENT, text, "ann")
            assert done.returncode != 0
            assert "Disk quota exceeded" in done.stderr
        stores.out(CLIENT, "head -c 1M /dev/urandom > ~/mine && sync ~/mine && rm ~/mine", "abe")
        # the kernel may still report data that the client could not send
        stores.run(CLIENT, "cat /dev/null > ~/big", "ann")
        assert stores.out(CLIENT, "stat -c %s ~/big && rm ~/big", "ann") == "0"
        until(
            lambda: stores.run(CLIENT, "echo again > ~/again && sync ~/again && rm ~/again", "ann").returncode == 0,
            "there is room again",
        )
    finally:
        stores.run(CLIENT, "rm -f ~/big ~/more ~/again", "ann")


def test_snapshots_are_created_and_the_oldest_of_ours_removed(stores: Stores) -> None:
    theirs = ["by-hand", "gpupool-daily-20260101T000000Z"]
    old = [f"gpupool-hourly-2026010{day}T000000Z" for day in (1, 2, 3)]
    forget_snapshots(stores)  # the timer may have run meanwhile
    try:
        stores.out(CLIENT, "echo kept > /srv/red-lab/share/text", "ann")
        stores.out(SERVER, " && ".join(f"zfs snapshot tank/red@{name}" for name in (*theirs, *old)))
        stores.out(SERVER, "systemctl start gpupool-snapshots")
        found = [name for name in snapshots(stores, "tank/red") if name not in theirs]
        assert len(found) == 2, "hourly: 2"
        assert found[0] not in old[:2]
        assert set(theirs) <= set(snapshots(stores, "tank/red"))
        assert snapshots(stores, "tank/blue") == []
        stores.out(SERVER, "systemctl start gpupool-snapshots")
        assert [name for name in snapshots(stores, "tank/red") if name not in theirs] == found, "made twice in an hour"
        stores.out(CLIENT, "rm /srv/red-lab/share/text", "ann")
        assert stores.out(CLIENT, f"cat /coc/pskynet1/.zfs/snapshot/{found[-1]}/text", "ann") == "kept"
        assert stores.out(SERVER, "systemctl is-enabled gpupool-snapshots.timer gpupool-scrub.timer").split() == [
            "enabled", "enabled",
        ]  # fmt: skip
    finally:
        stores.run(CLIENT, "rm -f /srv/red-lab/share/text", "ann")
        forget_snapshots(stores)


def test_a_pool_that_lost_a_disk_is_reported_and_so_is_its_recovery(stores: Stores) -> None:
    disk = "/dev/disk/by-id/virtio-fs1-2"
    try:
        stores.out(SERVER, f"zpool offline tank {disk}")
        assert stores.run(SERVER, "systemctl start gpupool-zfs-health").returncode != 0
        assert "tank: DEGRADED" in stores.out(SERVER, "journalctl -q -o cat -p crit -u gpupool-zfs-health")
        # the layout is as wanted: nothing to do for an apply
        assert stores.plan("--limit", SERVER) == (0, {})
    finally:
        stores.run(SERVER, f"zpool online tank {disk}")
    until(lambda: stores.run(SERVER, "systemctl start gpupool-zfs-health").returncode == 0, "the pool is well")
    assert "all pools are healthy again" in stores.out(SERVER, "journalctl -q -o cat -n 5 -u gpupool-zfs-health")


def test_pools_and_exports_are_back_after_a_power_cut(stores: Stores) -> None:
    exported = stores.out(SERVER, "exportfs -s")
    stores.pull_plug(SERVER)
    stores.start(SERVER)
    until(lambda: stores.run(SERVER, "systemctl is-active nfs-server").stdout.strip() == "active", "nfsd runs again")
    assert stores.out(SERVER, "zfs list -Ho mounted -r tank").split() == ["yes"] * 4
    assert stores.out(SERVER, "exportfs -s") == exported
    # clients with mounts continue without help
    until(lambda: stores.run(CLIENT, f"timeout 20 ls {MOUNTS}").returncode == 0, "the client is served again")
    assert stores.plan("--limit", SERVER) == (0, {})
