"""AAU AI Cloud's testbed as the tests of its guide use it."""

from pace import until

from tests.testbed.cluster import Testbed

PILOT, NODE, OTHER_NODE = "ai-pilot", "nv-ai-03", "nv-ai-01"
#: In a group of the department `es`, in `cs`, and in `es` itself.
USERS = ME, COLLEAGUE, NEWCOMER = "u1@student.aau.dk", "u2@cs.aau.dk", "u3@es.aau.dk"


def long_name(node: str) -> str:
    """Return a node's name as Slurm has it."""
    return f"{node}.srv.aau.dk"


def clear(cloud: Testbed) -> None:
    """Cancel all jobs, and return once they have ended."""
    until(lambda: not cloud.out(PILOT, "squeue -h; squeue -h -o %A | xargs -r scancel"), "all jobs have ended")
