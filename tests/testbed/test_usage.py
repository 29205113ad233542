"""The timers of storage servers: sums of each directory, removal of old files, a list of strays."""

import json
from collections.abc import Iterator

import pytest

from tests.testbed.cluster import Changed, Testbed, gpupool

USER, OTHER = "u-hays1", "u-cvmlp1"
SHARE, SCRATCH = "/srv/hays-lab/share", "/srv/hays-lab/scratch"
FORM = r"^Updated: \d{4}-\d\d-\d\d \d\d:\d\d$|^Usage \(human-readable\):  [\d.]+[KMGT]$|^Usage \(K\): \d+$"


def counted(testbed: Testbed) -> None:
    testbed.out("multivac", "systemctl start gpupool-usage || { journalctl -q -o cat -u gpupool-usage >&2; exit 1; }")


def kib(testbed: Testbed, path: str) -> int:
    return int(testbed.out("sky1", f"sed -n 's/^Usage (K): //p' {path}/disk-usage.txt", USER))


@pytest.fixture
def space(skynet: Testbed) -> Iterator[Testbed]:
    """Two users with files in a space that their labs share."""
    for user, lab in ((USER, "hays-lab"), (OTHER, "cvmlp-lab")):
        skynet.out("sky1", f"mkdir -p /srv/{lab}/share/{user}", user)
    skynet.out("sky1", f"head -c 3000000 /dev/urandom > {SHARE}/{USER}/data", USER)
    skynet.out("sky1", f"cd {SHARE}/{USER} && ln data again && truncate -s 1G hole && ln -s / all", USER)
    yield skynet
    skynet.out("multivac", f"rm -rf /pskynet1/{USER} /pskynet1/{OTHER}")


@pytest.mark.promise("SKY-095", "SKY-096")
def test_each_directory_of_a_space_has_the_size_of_du(space: Testbed) -> None:
    counted(space)
    text = space.out("sky1", f"cat {SHARE}/{USER}/disk-usage.txt", USER)
    assert len(text.splitlines()) == 3
    assert space.out("sky1", f"grep -cP '{FORM}' {SHARE}/{USER}/disk-usage.txt", USER) == "3"
    du = int(space.out("multivac", f"du -sk /pskynet1/{USER}").split()[0])
    assert kib(space, f"{SHARE}/{USER}") == du
    human = space.out("multivac", f"numfmt --from-unit=1024 --to=iec --format=%.1f {du}")
    assert text.splitlines()[1] == f"Usage (human-readable):  {human}"
    owner = space.out("sky1", f"stat -c '%U %a' {SHARE}/{USER}/disk-usage.txt", USER)
    assert owner == "root 644"


@pytest.mark.promise("SKY-097")
def test_the_count_is_weekly(space: Testbed) -> None:
    counted(space)
    timer = space.out("multivac", "systemctl show -p ActiveState,UnitFileState,TimersCalendar gpupool-usage.timer")
    assert {"ActiveState=active", "UnitFileState=enabled"} <= set(timer.splitlines())
    assert "OnCalendar=weekly" in timer or "OnCalendar=Mon *-*-* 00:00:00" in timer
    nice = space.out("multivac", "systemctl show -p Nice,IOSchedulingClass gpupool-usage.service")
    assert {"Nice=19", "IOSchedulingClass=3"} <= set(nice.splitlines())
    space.out("multivac", f"rm -rf /pskynet1/{OTHER}")
    space.out("sky1", f"mkdir /srv/cvmlp-lab/share/{OTHER}", OTHER)
    assert space.run("sky1", f"cat /srv/cvmlp-lab/share/{OTHER}/disk-usage.txt", OTHER).returncode
    before = kib(space, f"{SHARE}/{USER}")
    space.out("sky1", f"head -c 5000000 /dev/urandom > {SHARE}/{USER}/more", USER)
    counted(space)
    assert kib(space, f"{SHARE}/{USER}") > before + 4000
    assert space.out("sky1", f"head -c 8 /srv/cvmlp-lab/share/{OTHER}/disk-usage.txt", OTHER) == "Updated:"


@pytest.mark.promise("SKY-098")
def test_the_report_lists_large_directories_with_their_owners_largest_first(space: Testbed) -> None:
    counted(space)
    done = gpupool("storage", "report", space.inventory, "--on", "testbed", "--over", "0.0G", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    document = json.loads(done.stdout)
    sizes = [directory["kib"] for directory in document["directories"]]
    assert sizes == sorted(sizes, reverse=True)
    mine = next(directory for directory in document["directories"] if directory["path"] == f"/coc/pskynet1/{USER}")
    assert (mine["node"], mine["owner"], mine["account"]) == ("multivac", USER, "hays-lab")
    assert mine["kib"] == kib(space, f"{SHARE}/{USER}")
    done = gpupool("storage", "report", space.inventory, "--on", "testbed", "--over", "10T")
    assert done.returncode == 0
    assert "directories larger than 10T: 0 of " in done.stdout
    # no quota stops a user, whatever the space holds
    assert space.run("multivac", "command -v zfs && zfs get -H quota; quotaon -pa 2>/dev/null").stdout == ""


def test_a_users_entry_with_the_name_of_the_file_is_kept_and_named(space: Testbed) -> None:
    space.out("sky1", f"rm -rf {SHARE}/{USER}/disk-usage.txt && echo mine > {SHARE}/{USER}/disk-usage.txt", USER)
    space.out("sky1", f"mkdir /srv/cvmlp-lab/share/{OTHER}/disk-usage.txt", OTHER)
    counted(space)
    assert space.out("sky1", f"cat {SHARE}/{USER}/disk-usage.txt", USER) == "mine"
    done = gpupool("storage", "report", space.inventory, "--on", "testbed", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    left = {entry["path"]: entry["why"] for entry in json.loads(done.stdout)["not_written"]}
    form = "disk-usage.txt is not written: disk-usage.txt is {} of another owner"
    assert left[f"/coc/pskynet1/{USER}"] == form.format("a file")
    assert left[f"/coc/pskynet1/{OTHER}"] == form.format("a directory")


@pytest.mark.promise("SKY-098")
def test_an_unreachable_server_is_named_and_the_others_are_read(space: Testbed) -> None:
    space.out("multivac", "mv /etc/gpupool/usage.json /root/")
    try:
        done = gpupool("storage", "report", space.inventory, "--on", "testbed", "--json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["trouble"] == {"multivac": "the report is not installed yet: run gpupool apply"}
    finally:
        space.out("multivac", "mv /root/usage.json /etc/gpupool/")


@pytest.mark.promise("SKY-090")
def test_entries_other_than_members_folders_are_listed_every_night(space: Testbed) -> None:
    space.out("sky1", f"mkdir {SHARE}/my-datasets && touch {SHARE}/notes", USER)
    try:
        space.out("multivac", "systemctl start gpupool-audit")
        lines = space.out("multivac", "cat /var/lib/gpupool/audit/pskynet1.txt").splitlines()
        strays = [line.split("\t")[:3] for line in lines[2:]]
        assert ["directory", "my-datasets", USER] in strays
        assert ["file", "notes", USER] in strays
        assert not {USER, OTHER} & {name for _, name, _ in strays}
        assert "OnCalendar=" in space.out("multivac", "systemctl show -p TimersCalendar gpupool-audit.timer")
    finally:
        space.out("multivac", "rm -rf /pskynet1/my-datasets /pskynet1/notes")


@pytest.mark.promise("SDU-009")
def test_old_files_are_listed_one_night_and_removed_the_next(changed: Changed) -> None:
    before, after = "  usage_report: {", "  purge:\n    - {path: /coc/scratch, not_updated_for: 60d}\n  usage_report: {"
    testbed = changed("storage.yml", before, after)
    done = testbed.apply("--limit", "multivac")
    assert done.returncode == 0, done.stdout + done.stderr
    assert testbed.out("multivac", "systemctl is-enabled gpupool-purge.timer") == "enabled"
    # sixty days are five seconds here: no command can set back when a file was changed
    testbed.out("multivac", 'sed -i \'s/"seconds": 5184000/"seconds": 5/\' /etc/gpupool/usage.json')
    folder = f"{SCRATCH}/{USER}"
    testbed.out("sky1", f"mkdir -p {folder}/run && touch {folder}/run/old && ln -s ~ {folder}/run/home", USER)
    testbed.out("sky1", "touch ~/precious && sleep 6", USER)
    testbed.out("sky1", f"touch -d '61 days ago' {folder}/copied; touch {folder}/new", USER)
    listed = testbed.out("multivac", "gpupool-purge --dry")
    gone = [f"/export/scratch/{USER}/run/{name}" for name in ("", "home", "old")]
    assert sorted(line.rpartition("\t")[2] for line in listed.splitlines() if "\twould remove " in line) == gone
    run = "systemctl start gpupool-purge || { journalctl -q -o cat -u gpupool-purge >&2; exit 1; }"
    testbed.out("multivac", run)
    assert "old" in testbed.out("sky1", f"ls {folder}/run", USER), "the first run only lists"
    testbed.out("sky1", f"touch {folder}/new {folder}/copied", USER)
    testbed.out("multivac", run)
    assert testbed.out("sky1", f"ls {folder}", USER).split() == ["copied", "new"]
    assert testbed.out("sky1", "ls ~/precious", USER)
    log = testbed.out("multivac", "cat /var/log/gpupool/purge-*.log")
    assert sorted(line.rpartition("\t")[2] for line in log.splitlines() if "\tremove " in line) == gone
    testbed.out("multivac", f"rm -rf /export/scratch/{USER}")
    # the space has left the inventory
    testbed = changed("storage.yml", after, before)
    assert testbed.plan("--limit", "multivac")[1]["multivac"]
    assert testbed.apply("--limit", "multivac").returncode == 0
    units = testbed.out("multivac", "systemctl list-unit-files --no-legend 'gpupool-*.timer'; ls /usr/local/sbin")
    assert "purge" not in units
    assert testbed.plan("--limit", "multivac") == (0, {})
