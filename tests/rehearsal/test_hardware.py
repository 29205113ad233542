"""Hardware of several kinds, on real slurmctld and slurmd with fake device files. Needs docker."""

import os
from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.compile.slurm.conf import compute_nodes
from gpupool.programs.arbiter.guard import MARK
from gpupool.rehearsal.twin import HOLD, Ask, Refusal, Twin
from gpupool.rehearsal.twin import container as twin_container
from gpupool.slurm import nodes

BOX = "box: {cpus: 64, memory: 512G, gpu_slots: 8, cpus_kept_per_gpu: 6}"
TYPES = """h100: {models: [H100], autodetect: nvml}
  h100_1g.10gb: {models: [H100], mig: {of: h100, profile: 1g.10gb}, autodetect: nvml}
  mi210: {models: [MI210], vendor: amd}
  a40: {models: [A40]}
  v100: {models: [V100]}"""
ROW = '{name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}'
ROWS = """{name: gpu-1, address: 10.90.2.1, roles: [compute], gpus: {h100: 1, h100_1g.10gb: 3}, gres: {scratch: 500}}
  - {name: gpu-2, address: 10.90.2.2, roles: [compute], gpus: {mi210: 4}}
  - name: gpu-3
    address: 10.90.2.3
    roles: [compute]
    gpus: {a40: 2, v100: 2}
    devices: {a40: [/dev/nvidia0, /dev/nvidia3], v100: [/dev/nvidia1, /dev/nvidia2]}"""
PARTITIONS = """  - {name: slices, nodes: gpu-1, max_time: 2d}
  - {name: blue, nodes: gpu-1, max_time: 2d, allow_accounts: [blue], default_qos: quick}
"""
KEPT = "cores_kept: 2, memory_kept: 8G, local_disk: {real_size: 1T}, weight: 7"
CORES = f"box: {{cpus: 64, sockets: 2, cores: 16, threads: 2, real_memory: 515000M, {KEPT}}}"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    """Three nodes of different kinds, which allocate whole cores to jobs."""
    changes = [
        ("a40: {models: [A40]}", TYPES),
        (BOX, CORES),
        (ROW, ROWS),
        ("contributed_gpus: 10", "contributed_gpus: 8"),
        ("contributed_gpus: 6", "contributed_gpus: 4"),
        ("scheduler: {default_partition: all", "scheduler: {allocate: core, default_partition: fit"),
        ("qos:\n", "qos:\n  quick: {everybody: false}\n"),
        ("partitions:\n", f"partitions:\n{PARTITIONS}"),
        ("ctl,gpu-1", "ctl,gpu-1,gpu-2,gpu-3"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPOOL_TWIN_PREFIX", f"{twin_container.prefix()}-{os.getpid()}")
        with Twin.start(changed(SMALL, tmp_path_factory.mktemp("hardware"), *changes)) as twin:
            yield twin


def shown(twin: Twin, node: str) -> dict[str, str]:
    """Return the fields of a node in slurmctld."""
    words = twin.run(f"scontrol -o show node {node}").out.split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def test_every_node_registers_with_its_hardware(twin: Twin) -> None:
    for number in (1, 2, 3):
        node = shown(twin, f"gpu-{number}")
        assert node["State"] == "IDLE", node
        keys = ("CPUTot", "CPUEfctv", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "TmpDisk", "Weight")
        assert [node[key] for key in keys] == ["64", "60", "2", "16", "2", "515000", "1048576", "7"]
        assert (node["CoreSpecCount"], node["MemSpecLimit"]) == ("2", "8192")


@pytest.mark.parametrize(
    ("node", "gres"),
    [
        ("gpu-1", "gpu:h100:1,gpu:h100_1g.10gb:3,scratch:500"),
        ("gpu-2", "gpu:mi210:4"),
        ("gpu-3", "gpu:a40:2,gpu:v100:2"),
    ],
)
def test_slurmd_finds_the_gpus_of_the_inventory(twin: Twin, node: str, gres: str) -> None:
    assert shown(twin, node)["Gres"] == gres
    output = twin.run(f"slurmd -N {node} -G 2>&1").out
    for name in gres.split(","):
        assert name.rpartition(":")[0].rpartition(":")[2] in output, output
        assert "error" not in output, output


def test_a_slice_is_allocated_as_a_gpu(twin: Twin) -> None:
    twin.clear()
    user = next(user for user in twin.cluster.users.values())
    asks = ("--gres=gpu:h100_1g.10gb:1,scratch:100", "--mem=1G", "--array=1-4", "-p", "red")
    twin.submit([Ask(user.name, asks)])
    until(
        lambda: [job.state for job in twin.jobs()].count("RUNNING") == 3 or None,
        "three of four jobs run, one for each slice",
        lambda: str(twin.jobs()),
    )


def test_a_job_without_a_partition_waits_only_where_its_gpus_are(twin: Twin) -> None:
    twin.clear()
    user = next(iter(twin.cluster.users))
    jobs = twin.submit([Ask(user, ("-H", f"--gres=gpu:{gpu}:1", "--mem=1G")) for gpu in ("v100", "h100")])
    asked = [twin.run(f"squeue -h -j {job} -o %P").out.strip() for job in jobs]
    assert [sorted(names.split(",")) for names in asked] == [["all", "red"], ["all", "red", "slices"]]


def test_an_account_that_a_partition_does_not_admit_is_refused_for_the_account(twin: Twin) -> None:
    (answer,) = twin.submit([Ask(next(iter(twin.cluster.users)), ("-p", "blue", "--mem=1G"))])
    assert isinstance(answer, Refusal)
    assert "account" in answer.message.lower(), answer
    assert "qos" not in answer.message.lower(), answer


def test_a_job_of_one_cpu_has_a_whole_core(twin: Twin) -> None:
    twin.clear()
    user = next(user for user in twin.cluster.users.values())
    twin.submit([Ask(user.name, ("-c", "1", "--mem=1G", "-p", "red"))])
    jobs = until(
        lambda: jobs if (jobs := twin.jobs()) and jobs[0].state == "RUNNING" else None,
        "the job runs",
        lambda: str(twin.jobs()),
    )
    assert jobs[0].cpus == 2


def test_the_guard_accepts_the_memory_of_both_threads_of_a_core_and_no_more(twin: Twin) -> None:
    """With --mem-per-cpu, a job of one CPU is allocated the memory of two."""
    twin.clear()
    most = twin.cluster.scheduler.max_memory.of_gpu("a40")
    assert most
    user = next(iter(twin.cluster.users))
    gpu = ("-c", "1", "--gres=gpu:a40:1", "-p", "red")
    by_cpu, more = twin.submit([Ask(user, (*gpu, f"--mem-per-cpu={most}M")), Ask(user, (*gpu, "-H", "--mem=1G"))])
    twin.do(f"scontrol update jobid={more} MinMemoryNode={2 * most + 1}; scontrol release {more}", "a change by root")
    until(
        lambda: MARK in twin.run(f"squeue -h -j {more} -t PD -o %k").out,
        "the guard holds the other",
        lambda: twin.run("squeue; cat /var/log/arbiter.log").out,
    )
    (job,) = [job for job in twin.jobs() if job.id == by_cpu]
    assert (job.state, job.mem) == ("RUNNING", 2 * most)


def test_other_cores_end_the_jobs_of_a_node_and_other_sockets_do_not(twin: Twin) -> None:
    """`operations.slurm` refuses a change of cores while jobs run, and compares what slurmctld shows."""
    twin.clear()
    known = nodes.read(twin.run("scontrol show nodes").out)
    assert {name: node.cores for name, node in known.items()} == {
        node.name: node.cores for node in compute_nodes(twin.cluster)
    }
    [job] = twin.submit([Ask(next(iter(twin.cluster.users)), ("--mem=1G", "-w", "gpu-2", "-p", "all"), HOLD)])

    def states() -> list[tuple[str, int]]:
        return [(found.state, found.restarts) for found in twin.jobs() if found.id == job]

    until(lambda: states() == [("RUNNING", 0)] or None, "the job runs", lambda: str(twin.jobs()))
    conf, was = twin.run("cat /etc/slurm/slurm.conf").out, "Sockets=2 CoresPerSocket=16 ThreadsPerCore=2"
    for sockets, cores, threads, after in ((4, 8, 2, ("RUNNING", 0)), (2, 32, 1, ("PENDING", 1))):
        changed = conf.replace(was, f"Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}")
        twin.do(f"cat > /etc/slurm/slurm.conf <<'END'\n{changed}END\nscontrol reconfigure", "other sockets")
        until(
            lambda cores=cores, after=after: (
                (shown(twin, "gpu-2")["CoresPerSocket"], states()) == (str(cores), [after])
            ),
            f"{sockets} sockets of {cores} cores: {after}",
            lambda: str(twin.jobs()),
        )
