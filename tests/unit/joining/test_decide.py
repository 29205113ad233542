"""The classification of a machine: matching hardware, new hardware, or a refusal with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest
from inventories import SMALL, copied

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import GpuType, Hardware
from gpupool.cluster.schema.scheduling import Slurm
from gpupool.facts.hardware import Machine
from gpupool.joining import compare
from gpupool.joining.decide import Choice, MachineOptions, choose

A40 = "NVIDIA A40"
# a box of the small inventory: 64 CPUs, 512G, 8 slots
BOX = Machine(
    arch="x86_64",
    product="PowerEdge R750xa",
    cpus=64,
    sockets=2,
    cores=16,
    threads=2,
    memory=515574,
    tmp=448605,
    disks=(("sda", 480_103_981_056),),
    gpus=(A40,) * 8,
    unseen=(),
    files=(),
)


@pytest.fixture(scope="module")
def small() -> tuple[Inventory, Cluster]:
    loaded = examine(SMALL)
    assert loaded.site
    assert loaded.cluster
    return loaded.site.inventory, loaded.cluster


def chosen(small: tuple[Inventory, Cluster], options: MachineOptions | None = None, **other: object) -> Choice:
    return choose(replace(BOX, **other), options or MachineOptions(), *small)  # type: ignore[arg-type]


def test_matching_hardware_is_found_with_the_gpus_of_its_other_nodes(
    small: tuple[Inventory, Cluster],
) -> None:
    assert chosen(small) == Choice("box", None, {"a40": 8}, [])


@pytest.mark.parametrize(
    ("options", "other", "why"),
    [
        (MachineOptions(), {"gpus": (A40,) * 7}, "1 of 8 a40 missing (as on gpu-[1-2]; --gpus overrides it)"),
        (MachineOptions(), {"gpus": ("",) * 7}, "7 GPUs, but 8 a40 declared (as on gpu-[1-2]; --gpus overrides it)"),
        (MachineOptions(gpus={"a40": 7}), {}, "8 a40, but 7 declared"),
        (MachineOptions(gpus={"h100": 8}), {}, "there is no GPU type h100 in the inventory (add it to gpu_types)"),
        (
            MachineOptions(),
            {"unseen": ("0000:17:00.0",)},
            "the driver does not see the GPU at 0000:17:00.0 (as on gpu-[1-2]",
        ),
        (MachineOptions(hardware="box"), {"cpus": 32}, "it is not box: 32 CPUs, not 64"),
        (MachineOptions(hardware="box"), {"memory": 400_000}, "it is not box: memory of 400000M, less than RealMemory"),
        (MachineOptions(hardware="box"), {"memory": 1_000_000}, "it is not box: memory of 1000000M, not 512G"),
        (MachineOptions(hardware="box"), {"gpus": (A40,) * 9}, "it is not box: 9 GPUs, and 8 slots"),
        (MachineOptions(), {"cpus": 32, "gpus": ("NVIDIA H100 PCIe",)}, "the GPU NVIDIA H100 PCIe matches no GPU type"),
        (
            MachineOptions(),
            {"cpus": 32, "gpus": ("", "")},
            "2 GPUs cannot be identified before their driver is installed",
        ),
    ],
)
def test_a_machine_that_does_not_match_is_refused_with_the_reason(
    small: tuple[Inventory, Cluster], options: MachineOptions, other: dict[str, object], why: str
) -> None:
    wrong = chosen(small, options, **other).wrong
    assert len(wrong) == 1
    assert wrong[0].startswith(why)


def test_fake_gpus_are_only_counted(small: tuple[Inventory, Cluster]) -> None:
    inventory, cluster = small
    stand_in = replace(cluster, drivers=replace(cluster.drivers, gpu="fake"))
    # hardware that no node of the inventory has, so that no node determines its GPUs
    other = replace(BOX, cpus=32, gpus=())
    refused = choose(replace(other, files=("/dev/nvidia0", "/dev/nvidia1")), MachineOptions(), inventory, stand_in)
    assert refused.wrong == ["2 GPUs, whose type cannot be seen here (set it with --gpus TYPE:COUNT)"]
    without = choose(other, MachineOptions(), inventory, stand_in)
    assert (without.gpus, without.wrong) == ({}, [])


def test_a_machine_without_matching_hardware_gets_a_new_entry(small: tuple[Inventory, Cluster]) -> None:
    other = replace(BOX, cpus=32, sockets=1, gpus=(A40,) * 2)
    choice = choose(other, MachineOptions(), *small)
    assert choice == Choice(
        "poweredge-r750xa",
        {"cpus": 32, "sockets": 1, "cores": 16, "threads": 2, "real_memory": "515000M", "gpu_slots": 2},
        {"a40": 2},
        [],
    )
    assert compare.fitting(other, {"it": Hardware(**choice.new or {})}, Slurm()) == ["it"]
    assert chosen(small, MachineOptions(hardware="mine"), cpus=32).hardware == "mine"
    assert compare.new_name(BOX, ["poweredge-r750xa"]) == "poweredge-r750xa-2"


def test_slices_and_gpus_of_other_vendors_are_left_to_the_acceptance() -> None:
    types = {"mi210": GpuType(models=("MI210",), vendor="amd")}
    assert list(compare.wrong_gpus(replace(BOX, gpus=()), {"mi210": 4}, types)) == []


def test_a_machine_is_described_in_one_line() -> None:
    disks = (("sda", 480_103_981_056), ("sdb", 480_103_981_056), ("nvme0n1", 7_681_501_126_656))
    assert compare.summary(replace(BOX, gpus=(A40, A40, ""), disks=disks)) == (
        "64 CPUs (2 x 16 x 2), 515574M, 2 x NVIDIA A40, 1 x GPU, disks: 1 x 7153G, 2 x 447G"
    )
    bare = compare.summary(replace(BOX, gpus=(), files=("a", "b"), disks=()))
    assert bare.endswith("2 device files of GPUs, disks: none")
    assert "no GPUs" in compare.summary(replace(BOX, gpus=()))


def test_more_memory_than_the_hardware_can_have_is_other_hardware() -> None:
    """Firmware and kernel take at most a tenth of the memory."""
    exact = Hardware(cpus=64, real_memory="450000M")
    assert list(compare.misfits(replace(BOX, memory=500_000), exact, Slurm())) == []
    assert list(compare.misfits(replace(BOX, memory=500_001), exact, Slurm())) == ["memory of 500001M, not 450000M"]


def test_new_hardware_is_named_after_its_product_or_its_cpus() -> None:
    assert (
        compare.new_name(replace(BOX, product="ProLiant DL380 Gen10 Plus v2 Server"), []) == "proliant-dl380-gen10-plus"
    )
    for product in ("", "To be filled by O.E.M.", "None", "Standard PC (Q35)"):
        assert compare.new_name(replace(BOX, product=product), []) == "cpu-64"


def test_another_processor_is_other_hardware() -> None:
    arm = Hardware(cpus=64, real_memory="500000M", arch="aarch64")
    assert list(compare.misfits(BOX, arm, Slurm())) == ["x86_64, not aarch64"]


def test_a_smaller_disk_is_other_hardware_and_one_to_be_created_is_not_compared() -> None:
    nominal = Hardware(cpus=64, real_memory="500000M", local_disk="480G")
    assert list(compare.misfits(replace(BOX, tmp=440_000), nominal, Slurm())) == []
    wrong = "a disk for jobs of 400000M, less than TmpDisk, 432537M"
    assert list(compare.misfits(replace(BOX, tmp=400_000), nominal, Slurm())) == [wrong]
    assert list(compare.misfits(replace(BOX, tmp=None), nominal, Slurm())) == []


def test_the_disk_for_jobs_is_where_slurmd_looks_for_it(tmp_path: Path) -> None:
    def path(name: str, *replaced: tuple[str, str]) -> str:
        site = examine(copied(SMALL, tmp_path / name, *replaced)).site
        assert site
        return compare.disk_path(site.inventory)

    disk = ("gpu_slots: 8", "gpu_slots: 8, local_disk: {path: /scratch, size: 1T}")
    fs = ("scheduler: {", "slurm: {parameters: {TmpFS: /local}}\nscheduler: {")
    assert [path("a"), path("b", fs), path("c", disk)] == ["/tmp", "/local", "/scratch"]
