"""What a person of a lab notices on the head node of a cluster that one apply has made of plain Debian."""

import json

from testinfra.host import Host

testinfra_hosts = ["ansible://login"]

SRUN = "srun --gres=gpu:1 --partition=short"


def ada(host: Host, command: str) -> str:
    """Run a command as a person of the lab, who is no admin."""
    return str(host.check_output(f"runuser -l ada -c {json.dumps(command)}"))


def test_nodes_are_idle(host: Host) -> None:
    assert host.check_output("sinfo -h -p short -o '%N %t %G'") == "gpu-01 idle gpu:a40:2"


def test_a_job_of_a_person_runs_on_the_compute_node(host: Host) -> None:
    assert ada(host, f"{SRUN} hostname") == "gpu-01"


def test_a_job_gets_the_gpu_that_it_asked_for(host: Host) -> None:
    assert ada(host, f"{SRUN} printenv CUDA_VISIBLE_DEVICES") == "0"


def test_a_job_sees_the_home_of_its_owner(host: Host) -> None:
    ada(host, "echo here > note")
    assert ada(host, f"{SRUN} cat note") == "here"


def test_a_job_sees_what_the_lab_shares(host: Host) -> None:
    host.check_output("echo data > /srv/lab/share/set")
    assert ada(host, f"{SRUN} cat /srv/lab/share/set") == "data"


def test_the_lab_is_held_to_its_gpus(host: Host) -> None:
    assert "lab||gres/gpu=2" in host.check_output("sacctmgr -nP show assoc format=account,user,grptres").split()


def test_a_head_runs_no_jobs(host: Host) -> None:
    assert not host.package("slurmd").is_installed
