"""Options of a mount as they were asked for, beside what the kernel says it has."""

from gpupool.facts.mounts import Mounted

# of a mount: a remount changes them, whoever uses it; their opposites the kernel does not say
_FLAGS = {"ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime"}
# of the connection to a server: only a new mount has them
_VALUES = ("vers", "nconnect", "timeo", "retrans", "sec", "lookupcache", "acregmin", "acregmax", "acdirmin", "acdirmax")
_LEFT_OUT = {"nconnect": "1", "lookupcache": "all"}  # what the kernel does not say when it is so
_SIZES = ("rsize", "wsize")


def remountable(wanted: str, now: Mounted) -> list[str]:
    """Return the options in ``wanted`` that a mount lacks and a remount would give it."""
    if _is_bind(wanted):
        return []
    return [word for word in wanted.split(",") if word in _FLAGS and word not in now.options]


def fixed(wanted: str, now: Mounted) -> list[str]:
    """Return the options in ``wanted`` that an NFS mount lacks and only a new mount would have."""
    if now.fstype not in ("nfs", "nfs4") or _is_bind(wanted):
        return []
    has = dict(word.partition("=")[::2] for word in now.inner)
    if "vers" not in has:
        return []  # nothing to compare with: the kernel always says it
    words = wanted.split(",")
    found = ["hard"] if "hard" in words and "hard" not in has else []
    found += ["soft"] if "soft" in words and "soft" not in has else []
    for word in words:
        key, _, value = word.replace("nfsvers=", "vers=").partition("=")
        if key in _SIZES and value.isdigit() and int(has.get(key, value)) > int(value):
            found.append(word)  # smaller than asked for is the server's own limit
        elif key in _VALUES:
            now_value = has.get(key, _LEFT_OUT.get(key, ""))
            short = key == "vers" and now_value.partition(".")[0] == value
            if now_value != value and not short:
                found.append(word)
    return found


def _is_bind(wanted: str) -> bool:
    return bool({"bind", "rbind"} & set(wanted.split(",")))
