"""Compare the wanted options of a mount with those in the kernel."""

from gpupool.facts.mounts import Mounted

# options that a remount changes even in use, each with its opposite, which the kernel does not always list
_FLAGS = {"ro": "rw", "rw": "ro", "nosuid": "suid", "nodev": "dev", "noexec": "exec", "noatime": "atime"}
_CLEARED = ("ro", "nosuid", "nodev", "noexec")  # the kernel only has them if they were requested
# options of the connection to a server: only a new mount changes them
_VALUES = ("vers", "nconnect", "timeo", "retrans", "sec", "lookupcache", "acregmin", "acregmax", "acdirmin", "acdirmax")
_LEFT_OUT = {"nconnect": "1", "lookupcache": "all"}  # values that the kernel does not list
_SIZES = ("rsize", "wsize")


def remountable(wanted: str, now: Mounted) -> list[str]:
    """Return the options in `wanted` that a mount lacks and a remount would set, or clear ("suid")."""
    if _is_bind(wanted):
        return []
    options = wanted.split(",")
    last = {word: at for at, word in enumerate(options)}
    holds = {word for word in _FLAGS if word in last and last.get(_FLAGS[word], -1) < last[word]}
    lacks = [word for word in last if word in holds and word not in now.options]
    return lacks + [_FLAGS[word] for word in _CLEARED if word in now.options and word not in holds]


def fixed(wanted: str, now: Mounted) -> list[str]:
    """Return the options in `wanted` that an NFS mount lacks and only a new mount would set."""
    has = dict(word.partition("=")[::2] for word in now.inner)
    # the kernel always lists the version: without it, the options are unknown
    if now.fstype not in ("nfs", "nfs4") or _is_bind(wanted) or "vers" not in has:
        return []
    # the last of contradicting options is valid
    asked = {_key(word): word for word in wanted.split(",")}
    lacking = []
    for key, word in asked.items():
        value = word.partition("=")[2]
        if key == "hard":
            lacks = word not in has
        elif key in _SIZES:
            # a smaller size is the limit of the server
            lacks = value.isdigit() and int(has.get(key, value)) > int(value)
        elif key in _VALUES:
            current = has.get(key, _LEFT_OUT.get(key, ""))
            lacks = current != value and not (key == "vers" and current.partition(".")[0] == value)
        else:
            lacks = False
        if lacks:
            lacking.append(word)
    return lacking


def _key(word: str) -> str:
    key = word.partition("=")[0]
    return {"nfsvers": "vers", "soft": "hard"}.get(key, key)


def _is_bind(wanted: str) -> bool:
    return bool({"bind", "rbind"} & set(wanted.split(",")))
