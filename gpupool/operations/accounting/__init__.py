"""Slurm's accounting: compare and change cluster, QoS, accounts, users, coordinators and limits in slurmdbd.

These functions do the same without pyinfra: `ask_text` and `read` (gpupool.facts.accounting), and `normal`,
`closings`, `difference`, `blocked` and `script` of this package:

    clean = normal(wanted)
    state = read(run(ask_text(clean["cluster"])))     # run: runs shell text on a node with sacctmgr
    run(script(difference(state.entities, clean)))    # no steps: nothing to do
"""

import copy
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from pyinfra.api.command import StringCommand

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.facts.accounting import Accounting, AccountingState, ask_text, read
from gpupool.facts.directory import Members, MembersState
from gpupool.operations import diffs
from gpupool.operations.accounting.bad_names import removable, removal
from gpupool.operations.accounting.difference import difference
from gpupool.operations.accounting.leavers import cancellation, changes, closings, to_cancel, without
from gpupool.operations.accounting.removal import blocked, kept_for_others
from gpupool.operations.accounting.steps import Step, properties, script
from gpupool.operations.accounting.wanted import normal, tres_of
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.files.unwanted import RECORDING
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.members import people, with_members
from gpupool.operations.refusal import failure
from gpupool.shell import shell_file
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, parse
from gpupool.wanted import Roster

__all__ = ["Step", "ask_text", "blocked", "closings", "difference", "entities", "normal", "read", "script", "tres_of"]

_SHOWN = 5  # entities of another system that a note lists
_PRELUDE = RECORDING + shell_file(__package__, "kept.sh")
PATIENCE = 30  # seconds to wait for a slurmdbd that was just started
# entities by host, including new ones of an earlier step of the same plan
_foreseen: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


@operation
def entities(
    wanted: dict[str, Any],
    limits: bool = True,
    exact: bool = True,
    roster: Roster | None = None,
    end_running: bool = False,
    keep: bool = False,
) -> Commands:
    """Have the entities `wanted` in slurmdbd for their cluster; the structure is that of `gpupool.facts.accounting`.

    `wanted["root"]` has the limits of the whole cluster; without it, they are not changed.

    `exact`: missing fields get Slurm's defaults, and missing entities are removed, except root, the QoS normal and
    everything of another cluster. Without it, both are not changed. The same is true for an account with
    `exact: False`, its users and the accounts below it; they are listed in a note. `limits` False only adds the names
    of cluster, QoS and accounts: slurmdbd has gres/gpu only after the first start of slurmctld, which needs its QoS.

    `roster`: members of groups in a directory are users of its accounts, too, as this host's sssd reports them. If
    the answer may be incomplete, no user of these accounts is removed.

    Pending jobs of users who are to be removed from an account are cancelled, and with `end_running` all others.
    Entities with jobs are not removed, and their users may start none: the operation makes all other changes, then
    fails. Accounts and users whose names no row of sacctmgr can hold (see `facts.association_rows`) are removed first.

    With `keep`, the accounting is kept on the node before its first change, for `gpupool adopt --back`.
    """
    try:
        clean = normal(wanted, limits, exact)
    except ValueError as error:
        raise Refused(str(error)) from error
    name = clean["cluster"]
    state = _state(name, tres_of(clean))
    doomed = removable(state, clean)
    keeping = [_kept(name, state)] if keep and executing() else []
    if doomed and executing():
        yield from keeping
        yield StringCommand("sh -s", _stdin=removal(doomed, name, state.entities["cluster"]))
        state = _state(name, tres_of(clean))
    if state.trouble and executing():
        raise Refused(f"cannot query slurmdbd: {state.trouble}")
    if state.forged and executing():
        raise Refused(_forged(state))
    asked: MembersState | None = None
    unsure: dict[str, str] = {}
    if roster and roster.groups:
        asked = look(Members, "the directory", domain=roster.domain, groups=list(dict.fromkeys(roster.groups.values())))
        everyone, unsure = with_members(wanted, roster, asked, state.entities)
        clean = normal(everyone, limits, exact)
    unknown = sorted(tres_of(clean) - set(state.tres)) if executing() else []
    if unknown:
        raise Refused(
            f"slurmdbd does not know {', '.join(unknown)} yet: start slurmctld once with it in "
            "AccountingStorageTRES, before limits on it can be set"
        )
    now, silent = state.entities, state.trouble
    if not executing():
        now, silent = _plan(now, clean, silent, limits)
    closing, gone = closings(now, clean), to_cancel(now, clean, end_running)
    closed = properties(closing)
    if gone and executing():
        yield from keeping
        text = cancellation(name, gone, end_running)
        yield StringCommand("sh -s", _stdin=script(closing) + text)
        state, closing = _state(name, tres_of(clean)), []
        now, silent = state.entities, state.trouble
    elif gone:
        now = without(now, gone, end_running)
    steps, stays = [*closing, *difference(now, clean)], blocked(now, clean)
    empty = [Aspect("answers", "does not", note=f"does not answer ({silent}): shown as if it were empty")]
    unusable = people(asked, roster)[1] if asked and roster else {}
    later = {f"{item} cannot be removed yet": [Aspect(ABSENT, PRESENT, note=why)] for item, why in stays.items()}
    unknown_members = {item: [Aspect("as in the directory", "as it is", note=why)] for item, why in unsure.items()}
    bad = {each.item: [Aspect(ABSENT, PRESENT, note="removed: its name is not valid")] for each in doomed}
    differs = bad | closed | properties(steps) | dict(changes(gone)) | later | unknown_members
    if state.trouble:
        # slurmdbd may have all of these
        differs = {item: [replace(each, follows=True) for each in aspects] for item, aspects in differs.items()}
    differs = ({"slurmdbd": empty} if silent else {}) | differs
    diffs.record(Change(Kind.ACCOUNTING, item, tuple(each)) for item, each in differs.items())
    if unusable:
        named = "; ".join(f"{name!r}: {why}" for name, why in list(unusable.items())[:_SHOWN])
        more = f"; and {len(unusable) - _SHOWN} more" if len(unusable) > _SHOWN else ""
        diffs.note(f"members of groups of the directory who cannot be users: {named}{more}")
    if others := kept_for_others(now, clean):
        shown = ", ".join(others[:_SHOWN]) + (f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else "")
        why = "another system manages it, too" if clean["exact"] else "slurm.exact_accounting is false"
        diffs.note(f"left in slurmdbd, because {why}: {shown}")
    if kept := [each.item for each in state.bad_names if each not in doomed]:
        diffs.note(f"ignored in slurmdbd, because the name is invalid: {', '.join(kept[:_SHOWN])}")
    if not steps and not stays and not unsure and not doomed and not gone:
        this_host().noop(f"accounting of {name}: as wanted")
    if steps:
        yield from keeping
        yield StringCommand("sh -s", _stdin=script(steps))
    complaints = []
    if stays:
        named = "; ".join(f"{what} ({why})" for what, why in stays.items())
        complaints.append(f"not in the inventory, and not removed: {named}")
    complaints += [f"{what}: {why}" for what, why in unsure.items()]
    left_over = [each.item for each in removable(state, clean)] if executing() else []
    if left_over:
        complaints.append(f"slurmdbd does not remove {', '.join(left_over[:_SHOWN])}: end the jobs there first")
    if complaints:
        yield failure("; ".join(complaints))


def _kept(cluster: str, state: AccountingState) -> StringCommand:
    """Return the command that keeps the accounting, if it is the first to change it (`adopt --back`)."""
    question = ask_text(cluster) if cluster in state.entities["cluster"] else ""
    return StringCommand(f"{_PRELUDE.strip()}\nkeep_accounts {shlex.quote(question)}")


def _state(cluster: str, awaited: set[str]) -> AccountingState:
    """Return the state of slurmdbd; if a TRES is missing, wait for it: slurmctld may have just started."""
    patience = PATIENCE if executing() else 0
    label = "the accounting from slurmdbd"
    state = look(Accounting, label, cluster=cluster, patience=patience)
    if executing() and not state.trouble and awaited - set(state.tres):
        state = look(Accounting, label, cluster=cluster, patience=patience, awaited=tuple(sorted(awaited)))
    return state


def _forged(state: AccountingState) -> str:
    named = ", ".join(each.item for each in state.bad_names[:_SHOWN]) or "an account or user"
    return (
        f"the name of {named} contains a whole row of sacctmgr's output, so that {', '.join(state.forged[:_SHOWN])} "
        "has two rows: remove it with sacctmgr delete, then apply again"
    )


def _plan(
    now: dict[str, Any], clean: Mapping[str, Any], silent: str | None, limits: bool
) -> tuple[dict[str, Any], str | None]:
    """Return the entities as a plan's earlier steps will leave them (names, slurm.conf), and the trouble."""
    host = this_host()
    if not limits:
        _foreseen[host] = _with_names(now, clean)
        return now, silent
    expected = _foreseen.pop(host, None)
    if expected is None or clean["cluster"] not in expected["cluster"]:
        return {**now, "partitions": []}, silent
    return {**expected, "partitions": []}, None


def _with_names(now: Mapping[str, Any], clean: Mapping[str, Any]) -> dict[str, Any]:
    after = copy.deepcopy(dict(now))
    if clean["cluster"] not in after["cluster"]:
        after["cluster"].append(clean["cluster"])
    for name in clean["qos"]:
        after["qos"].setdefault(name, {field: parse(field, None) for field in QOS_FIELDS})
    for name, given in clean["accounts"].items():
        plain = {field: parse(field, None) for field in ASSOC_FIELDS} | {"coordinators": []}
        after["accounts"].setdefault(name, {"parent": given["parent"], **plain})
    return after
