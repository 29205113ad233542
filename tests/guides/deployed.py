"""Tests of every deployed cluster: nothing is left to change, and all checks of verify pass."""

from tests.testbed.cluster import Testbed, gpupool


class Deployed:
    """Tests of a cluster that is the fixture `testbed` of the subclass."""

    def test_nothing_is_left_to_change(self, testbed: Testbed) -> None:
        assert testbed.plan() == (0, {})

    def test_verify_passes(self, testbed: Testbed) -> None:
        done = gpupool("verify", testbed.inventory, "--on", "testbed")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all pass" in done.stdout


class DeployedWithRepair(Deployed):
    """Also a change by hand is reverted: on one cluster only, as tests/testbed tests that in detail on SkyNet."""

    def test_a_change_by_hand_is_named_and_reverted(self, testbed: Testbed) -> None:
        database, head = (
            next(node.name for node in testbed.target.nodes if node.has(role)) for role in ("database", "head")
        )
        account = next(iter(testbed.cluster.accounts))
        testbed.out(database, f"sacctmgr -iQ add user mallory account={account}")
        testbed.out(head, "echo 10.6.6.6 mallory >> /etc/hosts")
        named: dict[str, list[str]] = {head: ["Names | /etc/hosts"]}
        named.setdefault(database, []).append(f"Account limits | user mallory in account {account}")
        assert testbed.plan() == (3, named)
        assert testbed.apply().returncode == 0
        assert testbed.plan() == (0, {})
