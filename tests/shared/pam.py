"""A stack of PAM, asked by libpam itself with files of a folder in the place of /etc/pam.d."""

import ctypes
import ctypes.util
from collections.abc import Callable
from pathlib import Path
from typing import Literal

_CONVERSATION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Conv(ctypes.Structure):
    _fields_ = [("conv", _CONVERSATION), ("data", ctypes.c_void_p)]


def can_ask() -> bool:
    """Return whether this machine's libpam reads files of any folder; that came with 1.4."""
    return hasattr(_library(), "pam_start_confdir")


def ask(folder: Path, service: str, user: str, what: Literal["account", "session"]) -> bool:
    """Return whether the stack lets a user in, or opens the session (and closes it)."""
    library, handle = _library(), ctypes.c_void_p()
    conversation = _Conv(_CONVERSATION(lambda *_: 19))  # PAM_CONV_ERR: nothing is asked of anybody
    began = library.pam_start_confdir(
        service.encode(), user.encode(), ctypes.byref(conversation), str(folder).encode(), ctypes.byref(handle)
    )
    assert began == 0, f"pam_start: {began}"
    steps: dict[str, tuple[Callable[..., int], ...]] = {
        "account": (library.pam_acct_mgmt,),
        "session": (library.pam_open_session, library.pam_close_session),
    }
    try:
        return all(step(handle, 0) == 0 for step in steps[what])
    finally:
        library.pam_end(handle, 0)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("pam") or "libpam.so.0")
