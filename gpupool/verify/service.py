"""Problems of a service that reports its status to systemd."""

_HOUR = 3600


def question(name: str) -> str:
    """Return the command whose output `complaint` reads."""
    keys = "ActiveState,NRestarts,StatusText,ActiveEnterTimestampMonotonic"
    return f"LC_ALL=C systemctl show -p {keys} {name}; cut -d. -f1 /proc/uptime"


def complaint(name: str, answer: str) -> str:
    """Return the problem of a service, or "": it is inactive, has ended within the last hour, or reports `unwell`."""
    *lines, uptime = answer.splitlines()
    shown = dict(line.split("=", 1) for line in lines if "=" in line)
    state, status = shown.get("ActiveState", ""), shown.get("StatusText", "")
    if state != "active":
        return f"{name} is {state or 'unknown'}"
    since = int(uptime) - int(shown["ActiveEnterTimestampMonotonic"]) // 1_000_000
    if int(shown["NRestarts"]) and since <= _HOUR:
        return f"{name} has ended {shown['NRestarts']} times, the last time {since} s ago"
    return f"{name}: {status.partition(': ')[2]}" if status.startswith("unwell") else ""
