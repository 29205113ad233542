"""Slurm's messages when slurmctld does not answer: its commands have no exit code for that.

The sentences are those of slurm_strerror (src/common/slurm_errno.c) and of the C library, in the locale C.
"""

_SENTENCES = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
)


def slurmctld_is_silent(errors: str) -> bool:
    """Return whether slurmctld did not answer, by the last line of a Slurm command's standard error."""
    lines = errors.strip().splitlines()
    return bool(lines) and any(sentence in lines[-1] for sentence in _SENTENCES)
