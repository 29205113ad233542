"""`python3 -m budget.write FILE`: the budgets as the submit plugin reads them.

First a line with the time, in seconds since 1970. Then a line for each budget that an account's jobs are charged to,
and for each user's own: account, user or nothing, whose budget it is, its limit, what is used, what running jobs may
still use, with tabs between and in seconds of billing.
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
    """Replace the file as a whole; 1 where sshare fails, and the file stays as it is."""
    try:
        text = "".join(f"{line}\n" for line in [int(time.time()), *lines(read(ask()))])
    except SharesError as why:
        print(f"gpupool-budgets: {why}", file=sys.stderr)
        return 1
    files.replace(Path(path), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
