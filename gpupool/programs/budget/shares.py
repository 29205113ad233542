"""What slurmctld counts for accounts and users, from `sshare --json`. Amounts are in seconds of billing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpupool.node import commands
from gpupool.node.screen import plain

# seconds that sshare may take
PATIENCE = 30


class SharesError(Exception):
    """What is used cannot be told; the message says why."""


@dataclass(frozen=True)
class Share:
    """An account, or a user in one: `limit` is None without a budget, `running` what running jobs may still use."""

    account: str
    user: str
    parent: str
    limit: float | None
    used: float
    running: float

    @property
    def left(self) -> float:
        """What is not used yet; below 0 where a budget was made smaller than what is used."""
        return (self.limit or 0.0) - self.used


def ask() -> str:
    """Return what sshare says of all accounts and users; SharesError where it fails or is slow."""
    return commands.output_of(["sshare", "--all", "--json"], PATIENCE, SharesError)


def read(text: str) -> list[Share]:
    """Return accounts and their users in sshare's order; SharesError where a field is missing or of another kind."""
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
