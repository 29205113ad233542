"""The options of gpu_usage, for its --help and its man page."""

import argparse
import textwrap

PROG = "gpu_usage"
SUMMARY = "show how many GPUs run and are pending, by lab, by user or by partition"

ABOUT = (
    "RUNNING are the GPUs of running jobs, PENDING the requests of pending jobs. OVERCAP are the idle GPUs of other "
    "labs among RUNNING: they do not count for the lab's cap, and the job is preempted when an owner needs them. CAP "
    "is the number that the lab contributed, LEFT the number that its jobs can still get. Jobs in overcap are listed "
    "with the lab of the job's user. An account's line includes the jobs of its sub-accounts.",
    "The other columns are the running GPUs of each type. A pending job of several partitions counts for the first.",
    "All users of a node share one answer of squeue, at most a few seconds old, so you can use gpu_usage with watch.",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog=PROG,
        description=f"{SUMMARY[0].upper()}{SUMMARY[1:]}. Without an option: by lab.",
        epilog="\n\n".join(textwrap.fill(text, 79) for text in ABOUT),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("-u", "--users", action="store_true", help="a line for each user")
    made.add_argument("-l", "--labs", action="store_true", help="a line for each lab, with its cap")
    made.add_argument(
        "-p",
        "--partition",
        nargs="?",
        const="",
        metavar="NAME",
        help="a line for each partition; with NAME only the jobs of this lab, or else of this partition",
    )
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument(
        "--color", choices=["auto", "always", "never"], default="auto", help="use colours (auto: in a terminal)"
    )
    return made
