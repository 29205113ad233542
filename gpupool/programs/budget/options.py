"""The options of budget."""

import argparse
import textwrap

PROG = "budget"
SUMMARY = "show how much of their budgets accounts have used"
ABOUT = (
    "BUDGET is the total that the account and the accounts below it may use. USED is the amount charged to their jobs, "
    "as sreport counts it. RUNNING is the amount that running jobs may still be charged, if they use all of their "
    "time. LEFT is BUDGET minus USED. A line with a user is a part of the budget that a coordinator has set for one "
    "user.",
    "A job is charged for its allocated resources, for as long as it runs, at the price of its partition. Pending jobs "
    "are not charged. A job that may cost more than LEFT is refused. A job that fits only if running jobs end early "
    "waits (AssocGrpBillingMinutes).",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog=PROG,
        description=f"{SUMMARY[0].upper()}{SUMMARY[1:]}. Without an account: all accounts with a budget.",
        epilog="\n\n".join(textwrap.fill(text, 79) for text in ABOUT),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("-A", "--account", metavar="NAME", help="only the budgets that this account is charged to")
    made.add_argument("--json", action="store_true", help="print one JSON object, with amounts in seconds of billing")
    return made
