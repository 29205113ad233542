"""A client whose fileserver is server_paused, and a client whose options change: on kernels with real NFS."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from pace import until

from tests.testbed.cluster import docker, gpupool
from tests.vm.cluster import Changed, Stores

CLIENT, SERVER = "node01", "fs1"


@contextmanager
def server_paused(stores: Stores) -> Iterator[None]:
    """The fileserver's machine is paused: no packet comes back, no connection is closed."""
    docker("pause", stores.container(SERVER))
    try:
        yield
    finally:
        docker("unpause", stores.container(SERVER))


def seconds(act: Callable[[], object]) -> float:
    """Return the seconds that a call takes; its result must be true."""
    began = time.monotonic()
    assert act()
    return time.monotonic() - began


def succeeds(stores: Stores, command: str) -> bool:
    """Return whether a command succeeds on the client."""
    return stores.run(CLIENT, command).returncode == 0


def source_of(stores: Stores, path: str) -> list[str]:
    """Return source, type and options of the topmost mount at a path, from the kernel."""
    lines = stores.out(CLIENT, "cat /proc/self/mountinfo").splitlines()
    found = [line.split() for line in lines if line.split()[4] == path and " - autofs " not in line]
    assert found, f"nothing is mounted at {path}"
    last = found[-1]
    dash = last.index("-")
    return [last[dash + 2], last[dash + 1], f"{last[5]},{last[dash + 3]}"]


def options_of(stores: Stores, path: str) -> list[str]:
    """Return the options of the topmost mount at a path, from the kernel."""
    return source_of(stores, path)[2].split(",")


@contextmanager
def open_file(stores: Stores, export: str, path: str) -> Iterator[str]:
    """A program on the client, a unit with this name, keeps a file of a mount open."""
    unit = f"holds-{path.rpartition('/')[2]}"
    stores.out(SERVER, f"echo held > {export}/held && chmod a+r {export}/held")
    stores.out(CLIENT, f"systemd-run --collect --unit={unit} sh -c 'exec 3<{path}/held; sleep 600'")
    try:
        open_files = f"ls -l /proc/$(systemctl show -P MainPID {unit})/fd | grep held"
        until(partial(succeeds, stores, open_files), "the file is open")
        yield unit
    finally:
        stores.run(CLIENT, f"systemctl stop {unit}")
        stores.run(SERVER, f"rm -f {export}/held")


@pytest.mark.promise("SKY-083", "SKY-088")
def test_exports_are_mounted_hard_with_nfs_4_2_at_the_guides_paths(stores: Stores) -> None:
    assert stores.plan("--limit", CLIENT) == (0, {})
    for path, export in (("/coc/pskynet1", "/tank/red"), ("/coc/flash1", "/tank/blue"), ("/home", "/tank/home")):
        source, kind, options = source_of(stores, path)
        assert (source, kind) == (f"fs1.stores.example:{export}", "nfs4")
        assert {"noatime", "hard", "vers=4.2"} <= set(options.split(","))
    lines = {line.split()[-1]: line.split() for line in stores.out(CLIENT, "df -h | grep coc").splitlines()}
    assert (lines["/coc/pskynet1"][0], lines["/coc/pskynet1"][1]) == ("fs1.stores.example:/tank/red", "512M")
    assert stores.out(CLIENT, "findmnt -no SOURCE /coc/flash1 | tail -n 1") == "fs1.stores.example:/tank/blue"
    shown = [line.split() for line in stores.out(CLIENT, "ls -l /srv").splitlines() if " -> " in line]
    assert [(line[2], *line[-3:]) for line in shown] == [("root", "share", "->", "/coc/pskynet1")]


@pytest.mark.promise("SKY-055", "SKY-090")
def test_members_have_their_own_folders_on_nfs_and_an_acl_admits_two_labs(stores: Stores) -> None:
    try:
        stores.out(CLIENT, "mkdir /srv/red-lab/share/ann && echo 7 > /srv/red-lab/share/ann/x", "ann")
        assert stores.run(CLIENT, "rm -rf /srv/red-lab/share/ann; test ! -e /srv/red-lab/share/ann", "abe").returncode
        assert stores.run(CLIENT, "mkdir /srv/red-lab/share/bea", "bea").returncode != 0
        for lab, user in (("red-lab", "abe"), ("blue-lab", "bea")):
            stores.out(CLIENT, f"mkdir /srv/{lab}/scratch/{user}", user)
            assert stores.out(CLIENT, f"stat -c %U:%G /coc/scratch/{user}") == f"{user}:{lab}"
        assert stores.out(SERVER, "stat -c '%U %G %a' /tank/red /export/scratch") == "root red-lab 3775\nroot root 1775"
    finally:
        stores.run(SERVER, "rm -rf /tank/red/ann /export/scratch/abe /export/scratch/bea")


def test_a_server_that_hangs_delays_only_users_of_its_files(stores: Stores) -> None:
    # on the server, where root is not squashed
    stores.out(SERVER, "echo before > /export/scratch/waited")
    log_in, plan = seconds(lambda: stores.boot(CLIENT)), seconds(lambda: stores.plan("--limit", CLIENT))
    with server_paused(stores):
        stores.out(CLIENT, "systemd-run --collect --unit=looks sh -c 'cat /coc/scratch/waited > /root/looked'")
        assert seconds(lambda: stores.boot(CLIENT)) < 10 * log_in, "root's log-in waited for a mount"
        began = time.monotonic()
        done = stores.apply("--limit", CLIENT)
        assert time.monotonic() - began < 20 * plan
        assert done.returncode == 1
        output = " ".join(done.stdout.split())
        for path in ("/coc/pskynet1", "/coc/flash1", "/home"):
            assert f"{path}: fs1.stores.example:" in output
        assert "no answer within 5 s" in output
        code, changes = stores.plan("--limit", CLIENT)
        assert code == 3
        assert "Storage | /coc/scratch" in changes[CLIENT]
        verified = gpupool("verify", stores.inventory, "--on", "testbed", "--limit", CLIENT)
        assert verified.returncode == 1
        assert "/coc/flash1: no answer in 5 s (server fs1)" in verified.stdout
        assert "homes belong to their users: no answer in 5 s" in verified.stdout
        assert stores.out(CLIENT, "systemctl is-active looks; cat /root/looked") == "active", "it was to wait"
    # waiting programs continue, nothing is lost, and no help is needed
    until(lambda: stores.run(CLIENT, "cat /root/looked").stdout == "before\n", "who waited has read it")
    assert stores.plan("--limit", CLIENT) == (0, {})
    stores.out(CLIENT, "rm /root/looked")
    stores.out(SERVER, "rm /export/scratch/waited")


def test_a_client_boots_without_its_server_and_mounts_later(stores: Stores) -> None:
    with server_paused(stores):
        stores.pull_plug(CLIENT)
        stores.start(CLIENT)
        for unit in ("multi-user.target", "coc-pskynet1.automount"):
            until(partial(succeeds, stores, f"systemctl is-active {unit}"), unit)
        # the boot did not wait even for the end of the first try to mount
        up = int(stores.out(CLIENT, "systemctl show -P ActiveEnterTimestampMonotonic multi-user.target"))
        show = "systemctl show -P ActiveState -P InactiveEnterTimestampMonotonic coc-pskynet1.mount"
        state, given_up = stores.out(CLIENT, show).split()
        assert state == "activating" or int(given_up) > up
        done = stores.apply("--limit", CLIENT)
        assert done.returncode == 1
        assert "/coc/pskynet1: fs1.stores.example:/tank/red is down" in " ".join(done.stdout.split())
    # the first check finds it; a mount that was being tried meanwhile may take its time to report
    until(partial(succeeds, stores, "timeout 20 ls /coc/pskynet1/"), "mounts work again")
    until(lambda: stores.plan("--limit", CLIENT) == (0, {}), "nothing is left to do")
    assert stores.out(CLIENT, "findmnt -n -o FSTYPE --mountpoint /home | tail -n 1") == "nfs4"


@pytest.mark.promise("SKY-084")
def test_df_shows_the_mounts_after_a_boot_without_an_access(stores: Stores) -> None:
    stores.pull_plug(CLIENT)
    stores.start(CLIENT)
    until(partial(succeeds, stores, "systemctl is-active slurmd"), "the node is up")
    mounts = ["/coc/flash1", "/coc/pskynet1", "/coc/scratch"]

    def shown() -> list[str]:
        return sorted(stores.out(CLIENT, "df --output=target | grep -E '^/coc' || true").split())

    def units() -> str:
        return stores.out(
            CLIENT, "systemctl list-units -a 'coc-*'; journalctl -b -o short-monotonic -u 'coc-*' | tail -n 40"
        )

    # on a busy machine, they are mounted some seconds apart
    until(lambda: shown() == mounts, "df shows all mounts", units)
    assert stores.out(CLIENT, "systemctl --failed --plain --no-legend") == ""


def test_a_server_without_nfsd_is_named_and_recovers(stores: Stores) -> None:
    """The machine answers with a refused connection, which is handled elsewhere than silence."""
    stores.out(CLIENT, "ls /home")  # mounted, if not yet mounted since the boot: trying to mount it takes longer
    stores.out(SERVER, "systemctl stop nfs-server")
    try:
        done = stores.apply("--limit", CLIENT)
        assert done.returncode == 1
        assert "/coc/pskynet1: fs1.stores.example:/tank/red is down" in " ".join(done.stdout.split())
    finally:
        stores.out(SERVER, "systemctl start nfs-server")
    until(partial(succeeds, stores, "timeout 20 ls /coc/pskynet1/"), "mounts work again")
    assert stores.plan("--limit", CLIENT) == (0, {})


def test_a_mount_whose_directory_was_recreated_is_stale_and_named(stores: Stores) -> None:
    stores.out(SERVER, "mv /export/scratch /export/was && mkdir /export/scratch && exportfs -r")
    try:
        done = stores.apply("--limit", CLIENT)
        assert done.returncode == 1
        assert "/coc/scratch: fs1.stores.example:/export/scratch is down: Stale file handle" in " ".join(
            done.stdout.split()
        )
    finally:
        stores.out(SERVER, "rmdir /export/scratch && mv /export/was /export/scratch && exportfs -r")
    until(lambda: stores.plan("--limit", CLIENT) == (0, {}), "it is good again")


def test_new_options_apply_at_once_or_after_a_drain_and_open_files_survive(stores: Stores, changed: Changed) -> None:
    """The kernel applies suid to a mount in use; retrans only to a new mount, and a program uses this one."""
    changed("storage.yml", "path: /export/scratch}", "path: /export/scratch, options: [suid]}")
    seen = changed("storage.yml", "path: /tank/red,", "path: /tank/red, options: [retrans=5],")
    with (
        open_file(stores, "/export/scratch", "/coc/scratch"),
        open_file(stores, "/tank/red", "/coc/pskynet1") as holder,
    ):
        assert seen.plan("--limit", CLIENT) == (3, {CLIENT: ["Mounts | /coc/pskynet1", "Mounts | /coc/scratch"]})
        done = seen.apply("--limit", CLIENT)
        assert done.returncode == 1
        output = " ".join(done.stdout.split())
        assert (
            "/coc/pskynet1: mounted without retrans=5, because it or another mount of the same server is in use"
            in output
        )
        assert "drain the node" in output
        assert "retrans=5" not in options_of(stores, "/coc/pskynet1")
        assert "nosuid" not in options_of(stores, "/coc/scratch")
        assert seen.plan("--limit", CLIENT) == (3, {CLIENT: ["Mounts | /coc/pskynet1"]})
        assert stores.run(CLIENT, f"systemctl is-active {holder}").returncode == 0
        stores.out(CLIENT, f"systemctl stop {holder}")
        assert seen.apply("--limit", CLIENT).returncode == 0
        assert "retrans=5" in options_of(stores, "/coc/pskynet1")
        assert seen.plan("--limit", CLIENT) == (0, {})
        # removed options are handled in the same way
        assert stores.apply("--limit", CLIENT).returncode == 0
        assert {"nosuid", "nodev"} <= {*options_of(stores, "/coc/scratch")}
        assert stores.out(CLIENT, "systemctl is-active holds-scratch") == "active"
    # mounts of one server share a connection, which ends when all of them are unmounted
    stores.out(CLIENT, "umount -a -t nfs4 && ls /coc/pskynet1/ /coc/flash1/ /coc/scratch/ /home/")
    assert "retrans=5" not in options_of(stores, "/coc/pskynet1")


def test_another_source_at_a_mount_point_is_refused_and_kept(stores: Stores, changed: Changed) -> None:
    seen = changed("storage.yml", "path: /export/scratch}", "path: /export/other}")
    done = seen.apply("--limit", CLIENT)
    assert done.returncode == 1
    assert "/coc/scratch: fs1.stores.example:/export/scratch (nfs4) is mounted there" in " ".join(done.stdout.split())
    assert source_of(stores, "/coc/scratch")[0] == "fs1.stores.example:/export/scratch"
