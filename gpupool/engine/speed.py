"""Faster versions of three functions of pyinfra with the same results: they take two thirds of its time here.

All are private to pyinfra, so they are replaced only in releases of it for which tests compare the results.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from types import FrameType
from typing import Any

import pyinfra
from pyinfra.api import arguments
from pyinfra.api.host import HostData
from pyinfra.api.state import State
from pyinfra.api.util import PYINFRA_INSTALL_DIR

COMPARED = ("3.10.",)

# The attribute `pyinfra.api.operation` is the decorator, not the module.
_operation: Any = sys.modules["pyinfra.api.operation"]
_arguments: Any = arguments
_host_data: Any = HostData


def order_from_stack(state: State) -> list[int]:
    """Return the line numbers from the deploy file down to the operation; pyinfra reads the source of each frame."""
    frames: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe()
    while frame:
        frames.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    frames.reverse()
    first = next((i for i, (name, _) in enumerate(frames) if name == state.current_deploy_filename), len(frames) - 1)
    lines = [line for name, line in frames[first:-1] if not name.startswith(PYINFRA_INSTALL_DIR)]
    return [state.current_op_file_number, *lines] if pyinfra.is_cli else lines


def data_of_host(self: HostData, key: str) -> Any:
    """Return a value of a host's data, else raise AttributeError without a message.

    Each operation looks up about thirty keys, most of which are missing, and pyinfra's message takes time.
    """
    for data in self.datas:
        values = data() if callable(data) else data
        if key in values:
            return copy(values[key])
    raise AttributeError(key)


@contextmanager
def faster() -> Iterator[None]:
    """Use the three faster functions within the context."""
    if not pyinfra.__version__.startswith(COMPARED):
        yield
        return
    stock = _operation.get_operation_order_from_stack, _arguments.all_global_arguments
    looked_up: Any = HostData.__getattr__
    hints = list(stock[1]())  # pyinfra evaluates the same type hints for every operation
    _operation.get_operation_order_from_stack = order_from_stack
    _arguments.all_global_arguments = lambda: hints
    _host_data.__getattr__ = data_of_host
    try:
        yield
    finally:
        _operation.get_operation_order_from_stack, _arguments.all_global_arguments = stock
        _host_data.__getattr__ = looked_up
