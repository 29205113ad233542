"""slurmctld gives a job without a CPU request the CPUs of its type of GPU, within one partition."""

from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.twin import Ask, Twin

BY_TYPE = (
    ("  a40: {models: [A40]}\n", "  a40: {models: [A40]}\n  h100: {models: [H100]}\n"),
    (
        'name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}',
        "name: gpu-1, address: 10.90.2.1, hardware: box, gpus: {a40: 8}}\n"
        "  - {name: gpu-2, address: 10.90.2.2, hardware: box, gpus: {h100: 8}}",
    ),
    ("scheduler: {", "scheduler: {default_cpus_per_gpu: {a40: 4, h100: 2}, "),
)


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("cpus"), *BY_TYPE)) as twin:
        yield twin


@pytest.mark.parametrize(
    ("options", "gpus", "cpus"),
    [
        ("--gpus=a40:2", 2, 8),
        ("--gpus=h100:2", 2, 4),
        ("--gres=gpu:2", 2, 4),
        ("-n 2 --gpus-per-task=a40:1", 2, 4),
        ("-n 7 --gpus=a40:2", 2, 8),
        ("-n 10 --gpus=a40:2", 2, 10),
        ("-c 1 --gpus=a40:2", 2, 1),
        ("--gpus=a40:2 --cpus-per-gpu=1", 2, 2),
    ],
)
def test_cpus_without_a_request_are_those_of_the_type(twin: Twin, options: str, gpus: int, cpus: int) -> None:
    twin.clear()
    [number] = twin.submit([Ask("ann", ("--mem=10M", "-p", "all", *options.split()))])
    shown = f"squeue -h -j {number} -t R -O tres-alloc:200"
    charged = until(lambda: twin.run(shown).out.strip(), "the job runs", lambda: f"{number} {twin.jobs()}")
    fields = dict(field.split("=") for field in charged.split(","))
    assert (int(fields["gres/gpu"]), int(fields["cpu"])) == (gpus, cpus)
