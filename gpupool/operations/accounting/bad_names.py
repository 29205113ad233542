"""Remove accounts and users whose names have a line feed or |: coordinators can add them, but no row can hold them."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpupool.facts.accounting import AccountingState
from gpupool.facts.association_rows import BadName
from gpupool.operations.accounting.removal import accounts_of_others


def removable(state: AccountingState, wanted: Mapping[str, Any]) -> list[BadName]:
    """Return the bad names that are removed: all but those in accounts that another system manages, too."""
    if not wanted["exact"] or wanted["names_only"]:
        return []
    spared = accounts_of_others(state.entities, wanted)
    return [bad for bad in state.bad_names if bad.above not in spared]


def removal(names: Sequence[BadName], cluster: str, clusters: Sequence[str]) -> str:
    """Return the shell text that asks slurmdbd to remove the entities; it refuses those with running or pending jobs.

    If slurmdbd has several `clusters`, only the entities of `cluster` are removed. The script does not fail if slurmdbd
    refuses: the caller reads the accounting again.
    """
    here = [f"cluster={cluster}"] if len(clusters) > 1 else []
    lines = []
    for bad in names:
        account = [f"account={bad.above}"] if bad.kind == "user" else []
        where = ["where", f"name={bad.name}", *here, *account]
        lines.append(f"{shlex.join(['sacctmgr', '-iQ', 'delete', bad.kind, *where])} </dev/null >/dev/null 2>&1 || :")
    return "\n".join(lines) + "\n"
