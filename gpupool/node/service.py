"""Problems of a service that reports its status to systemd."""

_HOUR = 3600


def question(name: str) -> str:
    """Return the command whose output `complaint` and `trouble` read."""
    keys = "ActiveState,NRestarts,StatusText,ActiveEnterTimestampMonotonic"
    return f"LC_ALL=C systemctl show -p {keys} {name}; cut -d. -f1 /proc/uptime"


def complaint(name: str, answer: str) -> str:
    """Return the problem of a service (inactive, ended within the last hour, or reports `unwell`); "" without one."""
    shown = _shown(answer)
    state = shown.get("ActiveState", "")
    if state != "active":
        return f"{name} is {state or 'unknown'}"
    since = int(answer.splitlines()[-1]) - int(shown["ActiveEnterTimestampMonotonic"]) // 1_000_000
    if int(shown["NRestarts"]) and since <= _HOUR:
        return f"{name} has ended {shown['NRestarts']} times, the last time {since} s ago"
    problem = trouble(answer)
    return problem and f"{name}: {problem}"


def trouble(answer: str) -> str:
    """Return the problem that an active service reports; "" if it is well, inactive or unknown."""
    shown = _shown(answer)
    state, _, problem = shown.get("StatusText", "").partition(": ")
    return problem if shown.get("ActiveState") == "active" and state == "unwell" else ""


def _shown(answer: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
