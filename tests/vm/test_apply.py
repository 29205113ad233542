"""A deployed cluster needs no change."""

from tests.vm.cluster import Stores


def test_a_second_apply_changes_nothing(stores: Stores) -> None:
    done = stores.apply()
    assert (done.returncode, "nothing to change" in done.stdout) == (0, True), done.stdout
