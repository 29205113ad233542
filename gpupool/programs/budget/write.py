"""`python3 -m budget.write FILE`: write the budgets in the form that the submit plugin reads.

The first line is the time, in seconds since 1970. Then comes a line for each budget that an account's jobs are charged
to, and for each budget of a user, with tabs between: account, user or nothing, owner of the budget, limit, used amount,
and the amount that running jobs may still use. Amounts are in seconds of billing.
"""

import sys
import time
from pathlib import Path

from gpupool.node import files

from .shares import Share, SharesError, above, ask, read


def lines(shares: list[Share]) -> list[str]:
    """Return the lines of the file."""
    return [
        "\t".join(
            [
                *(share.account, share.user, budget.user or budget.account),
                *(f"{amount:.0f}" for amount in (budget.limit or 0.0, budget.used, budget.running)),
            ]
        )
        for share in shares
        for budget in (above(share, shares) if not share.user else [share] if share.limit is not None else [])
    ]


def main(path: str) -> int:
    """Replace the file atomically; return 1, without changing the file, if sshare fails."""
    try:
        text = "".join(f"{line}\n" for line in [int(time.time()), *lines(read(ask()))])
    except SharesError as why:
        print(f"gpupool-budgets: {why}", file=sys.stderr)
        return 1
    files.replace(Path(path), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
