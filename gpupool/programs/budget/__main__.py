"""`python3 -m budget UNIT [OPTIONS]`: the command budget. UNIT is the name of an hour of billing."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from gpupool.node import screen

from . import options
from .shares import Share, SharesError, above, ask, read


def main(arguments: Sequence[str]) -> int:
    """Print the budgets; return 1 if they cannot be read, 2 for an unknown account."""
    unit, *rest = arguments
    asked = options.parser().parse_args(rest)
    try:
        shares = read(ask())
    except SharesError as why:
        print(f"{options.PROG}: cannot read the budgets: {why}", file=sys.stderr)
        return 1
    shown = [share for share in shares if share.limit is not None]
    if asked.account:
        own = next((each for each in shares if each.account == asked.account.lower() and not each.user), None)
        if own is None:
            print(f"{options.PROG}: there is no account {asked.account}", file=sys.stderr)
            return 2
        mine = list(above(own, shares))
        shown = [each for each in shown if each in mine or (each.user and each.account == own.account)]
    if asked.json:
        print(json.dumps({"unit": unit, "budgets": [{**asdict(each), "left": each.left} for each in shown]}))
        return 0
    if not shown:
        print("No account has a budget." if not asked.account else f"Account {asked.account} has no budget.")
        return 0
    for line in table(shown, unit):
        print(line)
    return 0


def table(shares: Sequence[Share], unit: str) -> list[str]:
    """Return the budgets as aligned lines, in hours of billing."""
    rows = [["ACCOUNT", "USER", "BUDGET", "USED", "RUNNING", "LEFT", ""]]
    for each in shares:
        amounts = (each.limit or 0.0, each.used, each.running, each.left)
        rows.append([each.account, each.user or "-", *(f"{amount / 3600:.2f}" for amount in amounts), unit])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells of a row, padded to the widths of their columns; amounts are aligned to the right."""
    pairs = enumerate(zip(row, widths, strict=True))
    return [text.rjust(width) if 1 < column < 6 else text.ljust(width) for column, (text, width) in pairs]


if __name__ == "__main__":
    screen.run(main)
