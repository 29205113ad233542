"""What ssh prints when it fails: it has one exit status for all reasons, and its own lines about jumps come last."""

#: The lines about the end of the program that connects to a jump: the reason is before them.
_JUMP_ENDED = ("kex_exchange_identification: ", "Connection closed by UNKNOWN")
_NO_ADDRESS = "UNKNOWN port 65535"  # as ssh calls a node that it reaches by a program


def reason(errors: bytes) -> str:
    """Return the line that says why ssh failed; "" if it only says that the program for a jump has ended."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines()]
    kept = (line for line in reversed(lines) if line and not line.startswith(_JUMP_ENDED) and _NO_ADDRESS not in line)
    return next(kept, "")
