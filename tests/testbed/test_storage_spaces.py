"""Labs' spaces and users' homes, used as in the guide by its users on its nodes."""

from collections.abc import Iterator

import pytest

from tests.testbed.cluster import Testbed, gpupool

HOFFMAN, OTHER_HOFFMAN, ESSA, KIRA = "u-hoffman1", "u-hoffman2", "u-essa1", "u-kira1"

# promise, lab, space
SPACES = (
    ("SKY-056", "cvmlp-lab", "share"), ("SKY-057", "cvmlp-lab", "share2"), ("SKY-058", "cvmlp-lab", "scratch"),
    ("SKY-059", "cvmlp-lab", "flash1"), ("SKY-060", "essa-lab", "share3"), ("SKY-061", "essa-lab", "flash3"),
    ("SKY-062", "hays-lab", "share"), ("SKY-063", "hays-lab", "share2"), ("SKY-064", "hays-lab", "scratch"),
    ("SKY-065", "kira-lab", "share4"), ("SKY-066", "hoffman-lab", "share4"), ("SKY-067", "hoffman-lab", "flash9"),
    ("SKY-068", "nlprx-lab", "share5"), ("SKY-069", "nlprx-lab", "share6"), ("SKY-070", "ha-lab", "flash2"),
    ("SKY-071", "tail-lab", "flash10"), ("SKY-072", "rl2-lab", "flash7"), ("SKY-073", "rl2-lab", "flash8"),
)  # fmt: skip


@pytest.fixture
def flash(skynet: Testbed) -> Iterator[str]:
    """Yield the path of the guide's own example; files that the test leaves there are removed."""
    place = "/srv/hoffman-lab/flash9"
    yield place
    skynet.out("sky1", f"rm -rf {place}/{HOFFMAN} {place}/{OTHER_HOFFMAN} /nethome/{HOFFMAN}/flash")


@pytest.mark.promise("SKY-055", "SKY-090", "SKY-091")
def test_a_member_creates_their_own_folder_and_a_link_to_it(skynet: Testbed, flash: str) -> None:
    skynet.out("sky1", f"mkdir {flash}/{HOFFMAN} && ln -s {flash}/{HOFFMAN} ~/flash && echo 7 > ~/flash/seed", HOFFMAN)
    assert skynet.out("sky1", "srun -w a40-01 cat flash/seed", HOFFMAN) == "7"
    assert skynet.out("sky1", f"stat -c %U:%G {flash}/{HOFFMAN}") == f"{HOFFMAN}:hoffman-lab"
    assert skynet.run("sky1", f"mkdir {flash}/{ESSA}", ESSA).returncode != 0, "another lab's member"
    assert skynet.run("sky1", f"rmdir {flash}/{HOFFMAN} || mv {flash}/{HOFFMAN} {flash}/x", OTHER_HOFFMAN).returncode


@pytest.mark.promise("SKY-094")
def test_all_users_add_datasets_that_others_read_and_cannot_remove(skynet: Testbed) -> None:
    place = "/srv/datasets/coco"
    try:
        skynet.out("sky1", f"mkdir {place} && echo 1 > {place}/images", KIRA)
        assert skynet.out("clippy", f"cat {place}/images", ESSA) == "1"
        assert skynet.run("sky1", f"rm -r {place} || mv {place} {place}-old", ESSA).returncode
    finally:
        skynet.out("sky1", f"rm -rf {place}")


@pytest.mark.promise(*(promise for promise, _, _ in SPACES))
def test_members_of_every_lab_have_all_their_spaces(skynet: Testbed) -> None:
    users = {user.account: user.name for user in skynet.cluster.users.values()}
    for _, lab, space in SPACES:
        place = f"/srv/{lab}/{space}/{users[lab]}"
        try:
            skynet.out("sky1", f"mkdir {place} && echo {lab} > {place}/whose", users[lab])
            assert skynet.out("clippy", f"cat {place}/whose; stat -c %G {place}") == f"{lab}\n{lab}"
        finally:
            skynet.run("sky1", f"rm -rf {place}")


@pytest.mark.promise("SKY-074")
def test_a_space_without_a_server_exists_and_accepts_no_files(skynet: Testbed) -> None:
    """The guide gives neither server nor size: a folder created there would fill the disk of a head."""
    for node in ("sky1", "clippy"):
        assert skynet.out(node, "readlink /srv/wu-lab/flash12") == "/coc/flash12"
        refused = skynet.run(node, "mkdir /srv/wu-lab/flash12/u-wu1", "u-wu1")
        assert "No such file or directory" in refused.stderr


@pytest.mark.promise("SKY-056", "SKY-062", "SKY-090")
def test_two_labs_on_one_export_cannot_change_each_others_folders(skynet: Testbed) -> None:
    users = {user.account: user.name for user in skynet.cluster.users.values()}
    cvmlp, hays = users["cvmlp-lab"], users["hays-lab"]
    try:
        skynet.out("sky1", f"mkdir /srv/cvmlp-lab/share/{cvmlp}", cvmlp)
        skynet.out("sky1", f"mkdir /srv/hays-lab/share/{hays}", hays)
        assert skynet.run("sky1", f"rmdir /srv/hays-lab/share/{cvmlp}", hays).returncode != 0
        assert skynet.run("sky1", f"mkdir /srv/hays-lab/share/{ESSA}", ESSA).returncode != 0
    finally:
        skynet.out("sky1", f"rm -rf /coc/pskynet1/{cvmlp} /coc/pskynet1/{hays}")


def test_an_entry_with_another_users_name_is_named(skynet: Testbed) -> None:
    users = {user.account: user.name for user in skynet.cluster.users.values()}
    cvmlp, hays = users["cvmlp-lab"], users["hays-lab"]
    try:
        skynet.out("sky1", f"ln -s /tmp /srv/hays-lab/share/{cvmlp}", hays)
        done = gpupool("verify", skynet.inventory, "--on", "testbed", "--limit", "multivac")
        assert done.returncode == 1
        assert f"not owned by the user it is named after: /pskynet1/{cvmlp}" in done.stdout
    finally:
        skynet.out("sky1", f"rm -f /coc/pskynet1/{cvmlp}")


@pytest.mark.promise("SKY-092")
def test_rsync_copies_with_the_guides_options(skynet: Testbed, flash: str) -> None:
    skynet.out("sky1", f"mkdir {flash}/{HOFFMAN} && seq 1000 > ~/numbers", HOFFMAN)
    output = skynet.out("sky1", f"rsync -ah --info=progress2 ~/numbers {flash}/{HOFFMAN}/", HOFFMAN)
    assert "100%" in output
    assert "100%" in skynet.out("sky1", f"rsync -ah -P {flash}/{HOFFMAN}/numbers ~/again && rm ~/again", HOFFMAN)


@pytest.mark.promise("SKY-054", "SKY-093", "SKY-198")
def test_users_log_in_to_a_fileserver_with_a_local_home_and_reach_its_disks(skynet: Testbed) -> None:
    assert skynet.out("multivac", "pwd && echo local > here && cat here", KIRA) == f"/home/{KIRA}\nlocal"
    assert skynet.run("sky1", "cat ~/here", KIRA).returncode != 0
    skynet.out("sky1", "mkdir /srv/cvmlp-lab/share/direct && chmod 755 /srv/cvmlp-lab/share/direct")
    try:
        assert "direct" in skynet.out("multivac", "ls /pskynet1", KIRA).split()
    finally:
        skynet.out("sky1", "rmdir /coc/pskynet1/direct")


@pytest.mark.promise("SKY-089")
def test_testing_is_local_to_each_node(skynet: Testbed) -> None:
    skynet.out("clippy", "echo here > /srv/testing/mark && rm /zfs/testshare/mark && touch /zfs/testshare/mark", KIRA)
    assert skynet.run("a40-01", "ls /srv/testing/mark", KIRA).returncode != 0
    skynet.out("clippy", "rm /zfs/testshare/mark")


@pytest.mark.promise("SKY-053")
def test_the_home_is_the_same_on_infrastructure_and_compute_nodes(skynet: Testbed) -> None:
    skynet.out("sky1", "echo 1 > ~/shared", KIRA)
    for node in ("marvin", "vicki", "clippy", "optimus"):
        assert skynet.out(node, f"cat /nethome/{KIRA}/shared; stat -c '%U %a' /nethome/{KIRA}") == f"1\n{KIRA} 700"


@pytest.mark.promise("SKY-109")
def test_a_batch_job_that_reads_bashrc_activates_its_conda(skynet: Testbed) -> None:
    """With a stand-in for conda's hook: the test shows that a new home's .bashrc runs it in a batch job."""
    skynet.out("sky1", "mkdir -p ~/miniconda3/etc/profile.d", ESSA)
    hook = "conda() { export CONDA_DEFAULT_ENV=$2; }"
    skynet.out("sky1", "cat > ~/miniconda3/etc/profile.d/conda.sh", ESSA, f"{hook}\n")
    script = "#!/bin/bash\nsource ~/.bashrc\nconda activate my_env\necho env $CONDA_DEFAULT_ENV\n"
    skynet.out("sky1", "sbatch --wait -o ~/out.txt -p debug --gres=gpu:1", ESSA, script)
    assert skynet.out("sky1", "cat ~/out.txt", ESSA) == "env my_env"
