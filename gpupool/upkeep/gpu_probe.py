"""`gpu_probe HOW COUNT [FILE…]`: use each GPU of a job; python3 in the job reads this program from standard input.

If HOW is `cuda`, 16 MiB are written to each of COUNT GPUs and read back. If HOW is `files`, or CUDA cannot be loaded,
COUNT of the device files must open. Prints the problems, one line each; exit code 1 if there are any.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator

_BYTES = 16 << 20
_PATTERN = 0xA5


def cuda(count: int) -> Iterator[str]:
    """Yield the problems of the GPUs that CUDA shows. ImportError or OSError if CUDA cannot be loaded."""
    import ctypes  # Debian's python3-minimal lacks it

    library = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: object) -> None:
        code = getattr(library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'error %d' % code).decode()}")

    seen = ctypes.c_int()
    try:
        call("cuInit", 0)
        call("cuDeviceGetCount", ctypes.byref(seen))
    except RuntimeError as error:
        yield str(error)
        return
    if seen.value != count:
        yield f"CUDA shows {seen.value} of {count} GPUs to a job that has all of them"
    for index in range(seen.value):
        try:
            _write_and_read(call, index)
        except RuntimeError as error:
            yield f"GPU {index}: {error}"


def _write_and_read(call: Callable[..., None], index: int) -> None:
    import ctypes

    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    back = ctypes.create_string_buffer(_BYTES)
    call("cuDeviceGet", ctypes.byref(device), index)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    try:
        call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(_BYTES))
        call("cuMemsetD8_v2", memory, ctypes.c_ubyte(_PATTERN), ctypes.c_size_t(_BYTES))
        call("cuMemcpyDtoH_v2", back, memory, ctypes.c_size_t(_BYTES))
        call("cuMemFree_v2", memory)
    finally:
        call("cuCtxDestroy_v2", context)
    if back.raw != bytes([_PATTERN]) * _BYTES:
        raise RuntimeError("memory error: the data read differ from the data written")


def files(paths: list[str], count: int) -> Iterator[str]:
    """Yield the problems of the device files. A stand-in has no driver (ENXIO), and counts as opened."""
    opened, refused = 0, []
    for path in paths:
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError as error:
            if error.errno != errno.ENXIO:
                refused.append(f"{path}: {error.strerror}")
                continue
        opened += 1
    if opened < count:
        yield f"a job that has all {count} GPUs can open {opened} of their device files: {'; '.join(refused)}"


def main() -> None:
    """Print the problems; exit code 1 if there are any."""
    how, count, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    try:
        problems = list(cuda(count) if how == "cuda" else files(paths, count))
    except (ImportError, OSError):
        problems = list(files(paths, count))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
