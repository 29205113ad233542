"""The submit plugin in a real slurmctld: its effects for users."""

import pytest

from tests.testbed.cluster import Testbed


@pytest.mark.promise("SKY-142")
def test_too_many_cpus_per_gpu_give_a_warning(idle: Testbed) -> None:
    for asked, warned in (("--gres=gpu:rtx_6000:1 -c 8", True), ("--gres=gpu:a40:1 -c 15", False)):
        done = idle.run("sky1", f"srun -p debug {asked} true", "u-kira1")
        assert done.returncode == 0, done.stderr
        assert ("8 CPUs per GPU, but at most 7 are recommended" in done.stderr) is warned


@pytest.mark.promise("SKY-158", "SKY-208", "SKY-209")
def test_a_user_of_cvmlp_has_the_limit_with_every_qos(idle: Testbed) -> None:
    for words in ("", "--qos=normal", "--qos=short", "--qos=long -p long", "-p cvmlp-lab --qos=long"):
        job = idle.submit("u-cvmlp1", f"-H --gres=gpu:1 {words}")
        seen = idle.out("marvin", f"scontrol -o show job {job}")
        assert " QOS=cvmlp-user-limits " in seen, words
        longest = "7-00:00:00" if "long" in words or "-p cvmlp-lab" in words else "2-00:00:00"
        assert f" TimeLimit={longest} " in seen, words
    refused = idle.run("sky1", "sbatch --qos=short -t 3-0 -p long --wrap true", "u-cvmlp1")
    assert "The time limit of QoS short is 48 hours" in refused.stderr


@pytest.mark.promise("SKY-158")
def test_a_change_does_not_lift_the_limit(idle: Testbed) -> None:
    job = idle.submit("u-cvmlp1", "-H -p debug --qos=debug --gres=gpu:1")
    idle.out("sky1", f"scontrol update jobid={job} qos=short", "u-cvmlp1")
    assert " QOS=cvmlp-user-limits " in idle.out("marvin", f"scontrol -o show job {job}")


def test_in_overcap_a_user_of_cvmlp_has_the_requested_qos(idle: Testbed) -> None:
    job = idle.submit("u-cvmlp1", "-H --qos=short -p overcap -A overcap --gres=gpu:1")
    assert " QOS=short " in idle.out("marvin", f"scontrol -o show job {job}")


def test_a_job_without_gpus_leaves_memory_for_gpus(idle: Testbed) -> None:
    per_cpu = idle.cluster.scheduler.default_memory.per_cpu
    assert per_cpu
    job = idle.submit("u-kira1", "-p debug -c 4")
    idle.wait_for(job, "RUNNING")
    seen = idle.out("marvin", f"scontrol -o show job {job}")
    assert f"AllocTRES=cpu=4,mem={4 * per_cpu // 1024}G," in seen


def test_a_job_with_a_mail_type_gets_a_message_and_runs(idle: Testbed) -> None:
    message = "This cluster sends no mail: --mail-type has no effect."
    for asked, warned in (("--mail-type=END", True), ("", False)):
        done = idle.run("sky1", f"sbatch -p debug {asked} --wrap true", "u-kira1")
        assert done.returncode == 0, done.stderr
        assert (message in done.stderr) is warned
