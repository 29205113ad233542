"""Usage and limits of accounts and users, read from `sshare --json`. Amounts are in seconds of billing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpupool.node import commands
from gpupool.node.screen import plain

PATIENCE = 30  # time limit of sshare in seconds


class SharesError(Exception):
    """The usage cannot be read; the message is the reason."""


@dataclass(frozen=True)
class Share:
    """An account, or a user of an account. `limit` is None without a budget; running jobs may still use `running`."""

    account: str
    user: str
    parent: str
    limit: float | None
    used: float
    running: float

    @property
    def left(self) -> float:
        """The unused part of the budget; negative after the budget was set below the usage."""
        return (self.limit or 0.0) - self.used


def ask() -> str:
    """Return the output of sshare for all accounts and users; SharesError if it fails or times out."""
    return commands.output_of(["sshare", "--all", "--json"], PATIENCE, SharesError)


def read(text: str) -> list[Share]:
    """Return accounts and their users in sshare's order; SharesError if a field is missing or of another type."""
    try:
        return [_share(entry) for entry in json.loads(text)["shares"]["shares"] if not entry["partition"]]
    except (ValueError, KeyError, TypeError) as wrong:
        raise SharesError(f"sshare --json: {type(wrong).__name__}: {wrong}") from wrong


def above(share: Share, shares: list[Share]) -> Iterator[Share]:
    """Yield the budgets that a share's jobs are charged to: its own, then those of the accounts above it."""
    accounts = {each.account: each for each in shares if not each.user}
    if share.user:
        if share.limit is not None:
            yield share
        share = accounts.get(share.account, share)
    seen: set[str] = set()
    while share.account not in seen:
        seen.add(share.account)
        if share.limit is not None and not share.user:
            yield share
        share = accounts.get(share.parent, share)


def _share(entry: dict[str, Any]) -> Share:
    is_user = "USER" in entry["type"]
    limit = _billing(entry["tres"]["group_minutes"])
    return Share(
        account=plain(entry["parent"] if is_user else entry["name"]),
        user=plain(entry["name"]) if is_user else "",
        parent="" if is_user else plain(entry["parent"]),
        limit=limit["number"] * 60.0 if limit["set"] else None,
        used=float(_billing(entry["tres"]["usage"])),
        running=float(_billing(entry["tres"]["run_seconds"])["number"]),
    )


def _billing(amounts: list[dict[str, Any]]) -> Any:
    return next(amount["value"] for amount in amounts if amount["name"] == "billing")
