"""Find the reason in the errors of ssh: it has one exit status for all reasons, and prints lines about jumps last."""

#: The lines about the end of the program that connects to a jump: the reason is before them.
_JUMP_ENDED = ("kex_exchange_identification: ", "Connection closed by UNKNOWN")
_NO_ADDRESS = "UNKNOWN port 65535"  # ssh's name for a node to which it connects by a program


def reason(errors: bytes) -> str:
    """Return the line with the reason of ssh's failure; "" if there are only lines about the end of a jump."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines()]
    kept = (line for line in reversed(lines) if line and not line.startswith(_JUMP_ENDED) and _NO_ADDRESS not in line)
    return next(kept, "")
