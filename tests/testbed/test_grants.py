"""A QoS that is granted until a day, and a partition that users are assigned to, in the output of Slurm's commands."""

from datetime import date, timedelta

import pytest

from tests.testbed.cluster import Changed, Testbed

HEAD, USER, OTHER = "sky1", "u-kira1", "u-hays1"
QOS = "deadline"


def applied(testbed: Testbed) -> Testbed:
    nodes = ",".join({testbed.cluster.database.name, *(node.name for node in testbed.cluster.controllers)})
    done = testbed.apply("--limit", nodes)
    assert done.returncode == 0, done.stdout + done.stderr
    return testbed


@pytest.mark.promise("AAU-034")
def test_a_granted_qos_is_usable_until_its_day(changed: Changed) -> None:
    today = date.today()
    changed("labs.yml", "  normal: {default: true,", f"  {QOS}: {{everybody: false}}\n  normal: {{default: true,")
    granted = f"name: {USER}, grants: [{{qos: {QOS}, until: {today + timedelta(days=1)}}}],"
    testbed = applied(changed("labs.yml", f"name: {USER},", granted))
    testbed.wait_for(testbed.submit(USER, f"-p short --qos={QOS}"), "RUNNING")
    refused = testbed.run(HEAD, f"sbatch -p short --qos={QOS} --wrap true", OTHER)
    assert "Invalid qos" in refused.stderr
    testbed.out(HEAD, f"scancel -u {USER}", USER)
    applied(changed("labs.yml", f"until: {today + timedelta(days=1)}", f"until: {today - timedelta(days=1)}"))
    refused = testbed.run(HEAD, f"sbatch -p short --qos={QOS} --wrap true", USER)
    assert "Invalid qos" in refused.stderr


@pytest.mark.promise("GCP-007")
def test_a_partition_is_usable_for_its_assigned_users(changed: Changed) -> None:
    changed("partitions.yml", "  - name: debug\n", "  - name: debug\n    users: assigned\n")
    testbed = applied(changed("labs.yml", f"name: {USER},", f"name: {USER}, partitions: [debug],"))
    assert testbed.out(HEAD, "srun -p debug hostname", USER)
    refused = testbed.run(HEAD, "srun -p debug hostname", OTHER)
    assert "Partition debug is only for users who are assigned to it" in refused.stderr
    assert refused.returncode
    # nor by changing a job that is pending elsewhere
    job = testbed.submit(OTHER, "-H -p short")
    assert testbed.run(HEAD, f"scontrol update jobid={job} partition=debug", OTHER).returncode
    assert testbed.job(job)["Partition"] == "short"
