"""Problems of a service that reports its status to systemd."""


def question(name: str) -> str:
    """Return the command whose output `trouble` reads."""
    return f"LC_ALL=C systemctl show -p ActiveState,StatusText {name}"


def trouble(answer: str) -> str:
    """Return the problem that an active service reports; "" if it is well, inactive or unknown."""
    shown = _shown(answer)
    state, _, problem = shown.get("StatusText", "").partition(": ")
    return problem if shown.get("ActiveState") == "active" and state == "unwell" else ""


def _shown(answer: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
