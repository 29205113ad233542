"""The test job uses each GPU that CUDA shows; a fake CUDA library counts, fails, or forgets."""

import ctypes
from typing import Any

import pytest

from gpupool.upkeep import gpu_probe


class Cuda:
    """A library with `count` GPUs; a function in `fails` returns an error."""

    def __init__(self, count: int, fails: str = "", forgets: bool = False) -> None:
        self.count, self.fails, self.forgets = count, fails, forgets
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def function(*arguments: Any) -> int:
            self.calls.append(name)
            if name == "cuDeviceGetCount":
                arguments[0]._obj.value = self.count
            elif name == "cuMemcpyDtoH_v2":
                ctypes.memset(arguments[0], 0 if self.forgets else gpu_probe._PATTERN, gpu_probe._BYTES)
            elif name == "cuGetErrorString":
                arguments[1]._obj.value = b"out of memory"
            return int(name == self.fails)

        return function


def probe(monkeypatch: pytest.MonkeyPatch, library: Cuda, count: int = 2) -> list[str]:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    return list(gpu_probe.cuda(count))


def test_each_gpu_is_written_read_and_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Cuda(2)
    assert probe(monkeypatch, library) == []
    for name in (
        "cuCtxCreate_v2",
        "cuMemAlloc_v2",
        "cuMemsetD8_v2",
        "cuMemcpyDtoH_v2",
        "cuMemFree_v2",
        "cuCtxDestroy_v2",
    ):
        assert library.calls.count(name) == 2, name


def test_another_number_of_gpus_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe(monkeypatch, Cuda(1)) == ["CUDA shows 1 of 2 GPUs to a job that has all of them"]


def test_a_gpu_that_returns_other_data_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    found = probe(monkeypatch, Cuda(2, forgets=True))
    assert found == [f"GPU {n}: memory error: the data read differ from the data written" for n in (0, 1)]


@pytest.mark.parametrize("name", ["cuMemAlloc_v2", "cuMemcpyDtoH_v2"])
def test_a_gpu_that_fails_is_named_and_skipped(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    library = Cuda(1, fails=name)
    assert probe(monkeypatch, library, 1) == [f"GPU 0: {name}: out of memory"]
    assert library.calls.count("cuCtxDestroy_v2") == 1


def test_a_driver_that_does_not_start_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe(monkeypatch, Cuda(2, fails="cuInit")) == ["cuInit: out of memory"]
