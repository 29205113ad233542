"""What holds of every cluster that was deployed: a second apply, a change by hand, verify."""

from tests.testbed.cluster import Testbed, gpupool


class Stands:
    """Tests of a cluster that is the module's fixture `testbed`."""

    def test_a_second_apply_changes_nothing(self, testbed: Testbed) -> None:
        assert testbed.plan() == (0, {})
        done = testbed.apply()
        assert done.returncode == 0
        assert "nothing to change" in done.stdout

    def test_a_change_by_hand_is_named_and_put_back(self, testbed: Testbed) -> None:
        cluster = testbed.cluster
        database = next(node.name for node in testbed.target.nodes if node.has("database"))
        worker = next(node.name for node in testbed.target.nodes if node.has("compute"))
        account = next(name for name in cluster.accounts)
        testbed.out(database, f"sacctmgr -iQ add user mallory account={account}")
        testbed.out(worker, "echo 10.6.6.6 mallory >> /etc/hosts")
        assert testbed.plan() == (
            3,
            {database: [f"Account limits | user mallory in account {account}"], worker: ["Names | /etc/hosts"]},
        )
        assert testbed.apply().returncode == 0
        assert testbed.plan() == (0, {})

    def test_verify_holds(self, testbed: Testbed) -> None:
        done = gpupool("verify", testbed.inventory, "--on", "testbed")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.rstrip().endswith("all pass")
