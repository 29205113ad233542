"""A stack of PAM, evaluated by libpam itself with a folder instead of /etc/pam.d."""

import ctypes
import ctypes.util
from collections.abc import Callable
from pathlib import Path
from typing import Literal

_CONVERSATION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Conv(ctypes.Structure):
    _fields_ = [("conv", _CONVERSATION), ("data", ctypes.c_void_p)]


def can_ask() -> bool:
    """Return whether this machine's libpam can read files of any folder, as from version 1.4."""
    return hasattr(_library(), "pam_start_confdir")


def ask(folder: Path, service: str, user: str, what: Literal["account", "session"]) -> bool:
    """Return whether the stack admits a user, or opens the session (and closes it)."""
    library, handle = _library(), ctypes.c_void_p()
    conversation = _Conv(_CONVERSATION(lambda *_: 19))  # PAM_CONV_ERR: the test answers no questions
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
