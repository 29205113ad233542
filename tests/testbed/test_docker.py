"""Docker in jobs, as typed by users; NVIDIA's hook is a stand-in that creates device files and writes a log."""

import re
from collections.abc import Iterator

import pytest
from pace import until

from gpupool.compile.system.docker import PURGE
from tests.testbed.cluster import Changed, Testbed
from tests.testbed.containers import make_image

NODE, USER, OTHER = "clippy", "u-kira1", "u-hays1"
IMAGE, TORCH = "hello", "nvcr.io/nvidia/pytorch:22.11-py3"
IN_JOB = f"srun -p short -w {NODE}"
WITHOUT_CONTAINERS = "docker ps -aq | xargs -r docker rm -f"


@pytest.fixture(scope="module")
def images(skynet: Testbed) -> None:
    """One image under two names."""
    make_image(skynet, NODE, IMAGE, TORCH, command="echo Hello world")


@pytest.fixture
def docker(idle: Testbed, images: None) -> Iterator[Testbed]:
    """The node without containers before and after the test."""
    idle.out(NODE, WITHOUT_CONTAINERS)
    yield idle
    idle.out(NODE, WITHOUT_CONTAINERS)


def in_job(testbed: Testbed, script: str, options: str = "", user: str = USER) -> str:
    """Return the output of a script in a job on the node."""
    return testbed.out("sky1", f"{IN_JOB} {options} bash -s", user, script)


def gpus_of_the_job(shown: str) -> set[str]:
    """Return the numbers of a job's GPUs in the output of `scontrol -d show job`."""
    found = re.search(r"GRES=gpu\S*\(IDX:([\d,-]+)\)", shown)
    assert found, shown
    numbers: set[str] = set()
    for part in found[1].split(","):
        first, _, last = part.partition("-")
        numbers |= {str(number) for number in range(int(first), int(last or first) + 1)}
    return numbers


@pytest.mark.promise("SKY-172", "ARA-024", "ARA-025", "ARA-027", "ARA-032", "ARA-033")
def test_a_user_runs_a_container_in_a_job(docker: Testbed) -> None:
    assert in_job(docker, f"docker run --rm {IMAGE}\n") == "Hello world"
    here = in_job(docker, f"docker run --rm {TORCH} bash -c 'echo in $PWD; ls /dev'\n", "--gres=gpu:1", OTHER)
    assert here.splitlines()[0] == "in /workspace"
    assert "nvidia" not in here, "no GPU without --gpus"
    assert docker.out(NODE, "docker ps -aq") == ""
    assert IMAGE in in_job(docker, "docker images\n", user=OTHER), "all users of a node share its images"


@pytest.mark.promise("SKY-174", "SKY-176")
def test_the_quoted_flag_gives_a_container_exactly_the_gpus_of_the_job(docker: Testbed) -> None:
    """Another job has the first GPU, so CUDA's numbers differ from the node's."""
    docker.wait_for(docker.submit(OTHER, f"-p short -w {NODE} --gres=gpu:1"), "RUNNING")
    script = f"""
echo "cuda=$CUDA_VISIBLE_DEVICES"
scontrol -d show job $SLURM_JOB_ID
docker run --rm --gpus \\"device=${{NV_GPU}}\\" {TORCH} ls /dev
"""
    shown = in_job(docker, script, "--gres=gpu:2")
    wanted = gpus_of_the_job(shown)
    assert len(wanted) == 2
    assert "0" not in wanted
    assert "cuda=0,1" in shown, "it counts the job's own"
    assert set(re.findall(r"^nvidia(\d+)$", shown, re.MULTILINE)) == wanted
    noted = docker.out(NODE, "tail -n 1 /var/log/nvidia-container-runtime-hook.log")
    assert set(noted.partition("made=")[2].split()) == wanted


@pytest.mark.promise("SKY-178")
def test_a_container_is_not_within_its_job(docker: Testbed) -> None:
    """The limitation described in docs/roles/docker.md: dockerd is the parent of a container."""
    script = f"docker run --detach --name beside {IMAGE} sleep 9999 >/dev/null; cat /proc/self/cgroup\n"
    assert "/job_" in in_job(docker, script)
    process = docker.out(NODE, "docker inspect -f '{{.State.Pid}}' beside")
    assert "/job_" not in docker.out(NODE, f"cat /proc/{process}/cgroup")


@pytest.mark.promise("SKY-179")
def test_the_line_with_taskset_restricts_the_cpus_of_a_container(docker: Testbed) -> None:
    """The shell is bound by taskset: jobs of a testbed are not, as its node lacks the CPUs that Slurm expects."""
    line = "docker run --rm --cpuset-cpus=\"$(taskset -c -p $$ | cut -f2 -d ':' | awk '{$1=$1};1')\" " + IMAGE
    script = f"cat > ~/line.sh <<'END'\n{line} sh -c 'nproc; grep Cpus_allowed_list /proc/self/status'\nEND\n"
    output = in_job(docker, f"{script}taskset -c 1 bash ~/line.sh\n")
    assert output.split() == ["1", "Cpus_allowed_list:", "1"]


@pytest.mark.promise("ARA-030", "ARA-031", "ARA-034")
def test_files_are_shared_and_have_the_owner_of_the_user_option(docker: Testbed) -> None:
    script = f"""
set -e
mkdir -p ~/project && cd ~/project && chmod 755 . && rm -rf -- *
printf 'FROM {TORCH}\\nCOPY . .\\nENTRYPOINT ["sh", "hello.sh"]\\n' > Dockerfile
echo 'echo hello from $PWD' > hello.sh
docker build . -t mine >/dev/null 2>&1
docker run --rm mine
mkdir data && chmod 777 data
docker run --user "$(id -u):$(id -g)" --rm -v ~/project/data:/workspace/data -w /workspace/data {TORCH} touch of_user
stat -c %U data/of_user
"""
    assert in_job(docker, script).splitlines() == ["hello from /workspace", USER]


def test_missing_gpus_fail_the_container(docker: Testbed) -> None:
    done = docker.run("sky1", f"{IN_JOB} docker run --rm --gpus device=77 {IMAGE}", USER)
    assert done.returncode
    assert "unknown device" in done.stderr


# Effects of apply and of the daemon on containers


def of_container(testbed: Testbed, name: str) -> str:
    return testbed.out(NODE, f"docker inspect -f '{{{{.State.Running}}}} {{{{.State.Pid}}}}' {name}")


def test_no_change_ends_a_jobs_container(changed: Changed, images: None) -> None:
    pool = "    toolkit: site\n    address_pool: 172.28.0.0/16\n"
    testbed = changed("software.yml", "    toolkit: site\n", pool)
    testbed.out(NODE, WITHOUT_CONTAINERS)
    try:
        in_job(testbed, f"docker run --detach --name job {IMAGE} sleep 9999 >/dev/null\n")
        before, daemon = of_container(testbed, "job"), testbed.out(NODE, "systemctl show -p MainPID docker")
        why = "dockerd is not restarted while containers run, and uses older settings (/etc/docker/daemon.json): job"
        assert why in gone_wrong(testbed)
        assert of_container(testbed, "job") == before
        assert testbed.out(NODE, "systemctl show -p MainPID docker") == daemon
        # an admin may restart it: containers survive, and the settings are read
        testbed.out(NODE, "systemctl restart docker")
        assert of_container(testbed, "job") == before
        assert before.startswith("true ")
        assert testbed.apply("--limit", NODE).returncode == 0
        assert testbed.plan("--limit", NODE) == (0, {})
        testbed.out(NODE, "docker network create tried")
        assert "172.28." in testbed.out(NODE, "docker network inspect tried")
    finally:
        testbed.out(NODE, f"{WITHOUT_CONTAINERS}; docker network rm -f tried")


def gone_wrong(testbed: Testbed) -> str:
    """Return the failure that an apply reports for the node."""
    done = testbed.apply("--limit", NODE)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.promise("ARA-043")
def test_the_inventory_decides_who_may_use_docker(changed: Changed, images: None) -> None:
    members = "    toolkit: site\n    members: [kira-lab]\n    sudo: true\n"
    testbed = changed("software.yml", "    toolkit: site\n", members)
    done = testbed.apply("--limit", NODE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_job(testbed, f"docker run --rm {IMAGE}; sudo docker run --rm {IMAGE}\n") == "Hello world\nHello world"
    testbed.out(NODE, "systemctl restart slurmd")  # slurmd caches the groups of users for ten minutes
    until(lambda: testbed.out("sky1", f"sinfo -h -o %t -n {NODE}") == "idle", "the node is back")
    refused = testbed.run("sky1", f"{IN_JOB} docker ps", OTHER)
    assert refused.returncode
    assert "permission denied" in refused.stderr
    assert testbed.run("sky1", f"{IN_JOB} sudo -n docker ps", OTHER).returncode
    assert testbed.run("sky1", f"{IN_JOB} sudo -n id", USER).returncode, "docker and nothing else"


# The purge


@pytest.mark.promise("SKY-180")
def test_old_containers_are_removed_and_running_or_young_ones_kept(docker: Testbed) -> None:
    assert docker.out(NODE, "systemctl is-active gpupool-docker-purge.timer") == "active"
    in_job(docker, f"docker run --name ended {IMAGE}; docker run -d --name runs {IMAGE} sleep 9999\n")
    run = "systemctl start gpupool-docker-purge || { journalctl -q -o cat -u gpupool-docker-purge >&2; exit 1; }"
    names = "docker ps -a --format '{{.Names}}'"
    docker.out(NODE, run)
    assert set(docker.out(NODE, names).split()) == {"ended", "runs"}
    # a day is one second here: no command can set back when a container ended
    docker.out(NODE, f"sed -i 's/^containers_older_than=.*/containers_older_than=1/' {PURGE}")
    try:
        until(
            lambda: "would remove container ended of" in docker.out(NODE, f"{PURGE} --dry"),
            "the container is old enough",
            lambda: docker.out(NODE, f"{PURGE} --dry"),
        )
        assert set(docker.out(NODE, names).split()) == {"ended", "runs"}
        docker.out(NODE, run)
        assert docker.out(NODE, names) == "runs"
        assert of_container(docker, "runs").startswith("true ")
        assert "removed container ended of" in docker.out(NODE, "journalctl -q -o cat -u gpupool-docker-purge")
    finally:
        assert docker.apply("--limit", NODE).returncode == 0
    assert docker.plan("--limit", NODE) == (0, {})
