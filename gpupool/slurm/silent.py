"""What Slurm's commands print when slurmctld does not answer: they have no exit status for it.

The sentences are those of slurm_strerror (src/common/slurm_errno.c) and of the C library, in the locale C.
"""

_SENTENCES = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
)


def slurmctld_is_silent(errors: str) -> bool:
    """Return whether a command of Slurm, by the last line of its standard error, failed because of no answer."""
    lines = errors.strip().splitlines()
    return bool(lines) and any(sentence in lines[-1] for sentence in _SENTENCES)
