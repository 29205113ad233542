"""CPUs of real machines: two cores of two threads each, control groups v2, without overrides."""

import shlex

import pytest
from pace import until

from tests.vm.cluster import Stores

#: Prints the CPUs that a process may use.
OWN = "taskset -cp $$ | cut -d: -f2"
#: The same, and the number of CPUs it may use after it has requested all of them.
SEEN = f"{OWN}; taskset -c 0-3 nproc"


def _job(stores: Stores, options: str, script: str, user: str = "ann") -> list[str]:
    return stores.out("control", f"srun {options} sh -c {shlex.quote(script)}", user).split()


@pytest.fixture(scope="module", autouse=True)
def _idle(stores: Stores) -> None:
    until(lambda: stores.out("control", "sinfo -h -o %t") == "idle", "node01 is idle")


@pytest.mark.promise("SKY-145")
def test_slurm_counts_the_logical_cpus_of_real_cores(stores: Stores) -> None:
    real = stores.out("node01", "slurmd -C")
    assert "CPUs=4 " in real
    assert "CoresPerSocket=2 ThreadsPerCore=2" in real
    node = stores.out("control", "scontrol -o show node node01")
    assert " CPUTot=4 " in node
    assert "CPUs=4 " in stores.out("control", "grep ^NodeName= /etc/slurm/slurm.conf")


def test_no_cpus_are_claimed_that_do_not_exist(stores: Stores) -> None:
    config = stores.out("control", "scontrol show config")
    words = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in config.splitlines())}
    assert words["SlurmdParameters"] == "(null)"
    assert words["TaskPlugin"] == "task/cgroup,task/affinity"
    assert words["ConstrainCores"] == "yes"
    assert words["CgroupPlugin"] == "cgroup/v2"
    assert stores.out("node01", "stat -fc %T /sys/fs/cgroup") == "cgroup2fs"


@pytest.mark.promise("SKY-145", "SKY-168")
def test_a_job_gets_one_logical_cpu_and_cannot_take_more(stores: Stores) -> None:
    cpus, after_asking_for_all = _job(stores, "", SEEN)
    assert cpus in {"0", "1", "2", "3"}
    assert after_asking_for_all == "1"


def test_three_cpus_are_three_and_not_two_cores(stores: Stores) -> None:
    cpus, after_asking_for_all = _job(stores, "-c 3", SEEN)
    assert after_asking_for_all == "3"
    assert cpus != "0-3"


@pytest.mark.promise("SKY-152")
def test_each_process_of_a_step_has_separate_cpus(stores: Stores) -> None:
    own = _job(stores, "-n 4 -c 1", OWN)
    assert sorted(own) == ["0", "1", "2", "3"]
    pairs = _job(stores, "-n 2 -c 2", OWN)
    assert len(set(pairs)) == 2
    assert all(len(pair) == 3 for pair in pairs), "two CPUs each"


@pytest.mark.promise("SKY-168")
def test_four_jobs_run_in_parallel_on_one_cpu_each(stores: Stores) -> None:
    script = f"{SEEN}; sleep 600"
    numbers = [
        stores.out("control", f"sbatch --parsable -o /tmp/cpus.%j --wrap {shlex.quote(script)}", "ann")
        for _ in range(4)
    ]
    try:
        until(lambda: stores.out("control", "squeue -h -t R -o %A | wc -l") == "4", "four jobs run")

        def printed() -> list[list[str]] | None:
            seen = [stores.run("node01", f"cat /tmp/cpus.{number}").stdout.split() for number in numbers]
            return seen if all(len(words) == 2 for words in seen) else None

        seen = until(printed, "four jobs say their CPUs")
    finally:
        stores.out("control", f"scancel {' '.join(numbers)}", "ann")
    assert sorted(cpu for cpu, _ in seen) == ["0", "1", "2", "3"]
