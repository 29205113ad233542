"""Manual changes under /srv, at the top or among mounts: undone if no data is lost, otherwise refused."""

import pytest

from tests.testbed.cluster import Testbed


@pytest.mark.promise("SKY-086")
def test_a_wrong_link_is_corrected(skynet: Testbed) -> None:
    skynet.out("sky1", "ln -sfn /nowhere /srv/share && rm /srv/hoffman-lab/flash9")
    assert skynet.plan("--limit", "sky1") == (
        3,
        {"sky1": ["Links | /srv/share", "Links | /srv/hoffman-lab/flash9"]},
    )
    assert skynet.apply("--limit", "sky1").returncode == 0
    assert skynet.out("sky1", "readlink /srv/share /srv/hoffman-lab/flash9") == "/coc/pskynet1\n/coc/flash9"
    assert skynet.plan("--limit", "sky1") == (0, {})


def test_a_real_folder_in_the_place_of_a_link_is_refused_and_kept(skynet: Testbed) -> None:
    skynet.out("sky1", "rm /srv/share2 && mkdir /srv/share2 && echo precious > /srv/share2/data")
    try:
        done = skynet.apply("--limit", "sky1")
        assert done.returncode == 1
        words = "/srv/share2: a real directory is in the place of a link to /coc/pskynet2; move it away"
        assert words in " ".join(done.stdout.split())
        assert skynet.out("sky1", "cat /srv/share2/data") == "precious"
    finally:
        skynet.out("sky1", "rm -rf /srv/share2")
    assert skynet.apply("--limit", "sky1").returncode == 0


@pytest.mark.promise("SKY-090")
def test_rights_of_a_top_are_restored_and_its_folders_kept(skynet: Testbed) -> None:
    show = "stat -c '%u %g %a' /pskynet1; getfacl -cpn /pskynet1"
    before = skynet.out("multivac", show)
    skynet.out("multivac", "mkdir -p /pskynet1/kept && chmod 0777 /pskynet1 && setfacl -x g:5002 /pskynet1")
    assert skynet.plan("--limit", "multivac") == (3, {"multivac": ["Spaces | /pskynet1"]})
    assert skynet.apply("--limit", "multivac").returncode == 0
    assert skynet.out("multivac", show) == before
    assert skynet.out("multivac", "rmdir /pskynet1/kept && echo stayed") == "stayed"
    assert skynet.plan("--limit", "multivac") == (0, {})


def test_a_mount_that_was_unmounted_is_mounted_again(skynet: Testbed) -> None:
    skynet.out("sky2", "umount /coc/pskynet2")
    assert skynet.plan("--limit", "sky2") == (3, {"sky2": ["Mounts | /coc/pskynet2"]})
    assert skynet.apply("--limit", "sky2").returncode == 0
    assert skynet.plan("--limit", "sky2") == (0, {})
