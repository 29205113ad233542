"""The associations of a user in slurmdbd: one of an account, and one of each partition of an account."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Names in slurmdbd; sacctmgr converts names to lower case, so others would never be equal.
NAME = re.compile(r"[a-z0-9_][a-z0-9_.@-]*")


def associations(user: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the account, the partition ("" if none) and the fields of each association in the form of the fact."""
    for account, fields in user["accounts"].items():
        yield account, "", fields
    for account, inside in user.get("partitions", {}).items():
        for partition, fields in inside.items():
            yield account, partition, fields


def named(user: str, account: str, partition: str = "") -> str:
    """Return the name of an association in plans and messages."""
    return f"user {user} in account {account}" + (f", partition {partition}" if partition else "")


def where(user: Mapping[str, Any], account: str, partition: str = "") -> list[str]:
    """Return sacctmgr's conditions for one association of a user, as slurmdbd has the user.

    Without a partition, sacctmgr changes and removes those of all partitions, too; `partition=` is the one without.
    """
    apart = bool(partition or user.get("partitions", {}).get(account))
    return [f"account={account}", *([f"partition={partition}"] if apart else [])]
