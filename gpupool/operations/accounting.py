"""Slurm's accounting: cluster, QoS, accounts, users and their limits in slurmdbd, compared and brought in line.

What is not said is not touched: an entity that is not wanted stays, and so does a field that is not named. A field
that is named is exact: ``{"GrpTRES": {}}`` or ``{"MaxWall": None}`` takes the limit away.
"""

import re
import shlex
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.accounting import Accounting
from gpupool.facts.limits import ASSOC_FIELDS, QOS_FIELDS, Value, parse, write
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.refusal import refuse

PATIENCE = 30  # seconds that a slurmdbd which was just started gets to answer
_TOGETHER = 100  # names in one sacctmgr command
_CHUNK = 60  # commands in one remote call
_NAME = re.compile(r"[a-z0-9_][a-z0-9_.@-]*")  # sacctmgr makes names lower case: others would never compare equal
# a QoS may name one that is added after it
_LATER = ("Preempt",)


@dataclass(frozen=True)
class Step:
    """One sacctmgr command, for all ``names`` at once, and what it does, by name."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    settings: tuple[str, ...]
    changes: tuple[tuple[str, str], ...]

    def command(self) -> str:
        """Return the shell command; {} in the words stands for the names."""
        named = [word.replace("{}", ",".join(self.names)) for word in self.words]
        return shlex.join(["sacctmgr", "-iQ", *named, *self.settings])


@operation()
def entities(wanted: dict[str, Any], limits: bool = True) -> Generator[StringCommand, None, None]:
    """Add what slurmdbd lacks of ``wanted`` (the shape is ``gpupool.facts.accounting``'s) and modify what differs.

    ``cluster`` is the cluster's name. Nothing is removed, and root is never touched. ``limits`` False leaves all TRES
    limits out: slurmdbd knows gres/gpu only after slurmctld has started once, and slurmctld needs its QoS before.
    """
    try:
        clean = normal(wanted, limits)
    except ValueError as error:
        yield from refuse(str(error))
        return
    name = clean["cluster"]
    patience, awaited = (PATIENCE, tuple(sorted(_tres(clean)))) if executing() else (0, ())
    state = this_host().get_fact(Accounting, cluster=name, patience=patience, awaited=awaited)
    if state is None or (state.trouble and executing()):
        trouble = state.trouble if state else "no answer in time"
        yield from refuse(f"slurmdbd cannot be asked: {trouble}")
        return
    unknown = sorted(_tres(clean) - set(state.tres)) if executing() else []
    if unknown:
        yield from refuse(
            f"slurmdbd does not know {', '.join(unknown)} yet: slurmctld must have started once with "
            "AccountingStorageTRES naming it, before limits on it can be set"
        )
        return
    steps = difference(state.entities, clean)
    diffs.record(_told(steps, state.trouble))
    if not steps:
        this_host().noop(f"accounting of {name}: as wanted")
        return
    # its last word stays the last line; its usual talk is not for a log
    run = 'run() { said=$("$@" 2>&1) || { printf "%s\\n" "$*" "$said" >&2; exit 1; }; }'
    commands = [f"run {step.command()}" for step in steps]
    for start in range(0, len(commands), _CHUNK):
        yield StringCommand("\n".join([run, *commands[start : start + _CHUNK]]))


def normal(wanted: Mapping[str, Any], limits: bool = True) -> dict[str, Any]:
    """Return ``wanted`` with every value in its one form. ValueError in words for what Slurm cannot have."""

    def fields(of: str, given: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Value]:
        names = {_ALIASES.get(name, name): value for name, value in given.items()}
        if odd := sorted(set(names) - set(known)):
            raise ValueError(f"{of}: {odd[0]} cannot be set there")
        try:
            values = {name: parse(name, value) for name, value in names.items()}
        except ValueError as error:
            raise ValueError(f"{of}: {error}") from None
        return {name: value for name, value in values.items() if limits or not isinstance(value, dict)}

    for kind in ("qos", "accounts", "users"):
        for name in wanted.get(kind, {}):
            if not _NAME.fullmatch(name) or (name == "root" and kind != "qos"):
                raise ValueError(f"{kind}: {name!r} cannot be managed (lower-case names, and never root)")
    if not _NAME.fullmatch(wanted["cluster"]):
        raise ValueError(f"{wanted['cluster']!r}: a cluster's name is lower case")
    clean: dict[str, Any] = {
        "cluster": wanted["cluster"],
        "qos": {name: fields(f"QoS {name}", given, QOS_FIELDS) for name, given in wanted.get("qos", {}).items()},
        "accounts": {},
        "users": {},
    }
    for name, given in wanted.get("accounts", {}).items():
        rest = {key: value for key, value in given.items() if key != "parent"}
        parent = given.get("parent", "root")
        clean["accounts"][name] = {"parent": parent, **fields(f"account {name}", rest, ASSOC_FIELDS)}
    for name, given in wanted.get("users", {}).items():
        inside = {
            account: fields(f"user {name} in {account}", values, ASSOC_FIELDS)
            for account, values in given["accounts"].items()
        }
        default = given.get("default_account") or next(iter(inside), None)
        if default not in inside:
            raise ValueError(f"user {name}: the default account {default} is none of the user's accounts")
        clean["users"][name] = {"default_account": default, "accounts": inside}
        if "AdminLevel" in given:
            clean["users"][name]["AdminLevel"] = parse("AdminLevel", given["AdminLevel"])
    return clean


_ALIASES = {"qos": "QOS", "default_qos": "DefaultQOS"}


def difference(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Return the commands that add and modify until ``now`` holds all of ``wanted`` (both in their one form)."""
    name = wanted["cluster"]
    cluster = f"cluster={name}"
    steps = [] if name in now["cluster"] else [_step(("add", "cluster", "{}"), name, (), f"cluster {name}")]
    later: list[Step] = []
    for qos, values in wanted["qos"].items():
        there = now["qos"].get(qos)
        settings, says = _settings(values if there is not None else _without(values, _LATER), there)
        if there is None:
            steps.append(_step(("add", "qos", "{}"), qos, settings, f"QoS {qos}", *says))
            settings, says = _settings(_only(values, _LATER), None)
        if settings:
            later.append(_step(("modify", "qos", "where", "name={}", "set"), qos, settings, f"QoS {qos}", *says))
    steps += later
    for account in _parents_first(wanted["accounts"]):
        values = _without(wanted["accounts"][account], ("parent",))
        parent = wanted["accounts"][account]["parent"]
        there = now["accounts"].get(account)
        settings, says = _settings(values, there)
        if there is None:
            add = ("add", "account", "{}", cluster, f"parent={parent}")
            steps.append(_step(add, account, settings, f"account {account}", f"below {parent}", *says))
            continue
        if there["parent"] != parent:
            settings, says = [f"parent={parent}", *settings], [f"parent: {there['parent']} becomes {parent}", *says]
        if settings:
            modify = ("modify", "account", "where", "name={}", cluster, "set")
            steps.append(_step(modify, account, settings, f"account {account}", *says))
    # associations that make the default account first, then the others, then what needs them to be there
    ranked = [
        step for user, given in wanted["users"].items() for step in _user(user, given, now["users"].get(user), cluster)
    ]
    for rank in range(4):
        steps += _together([step for place, step in ranked if place == rank])
    return steps


def _user(
    user: str, wanted: Mapping[str, Any], now: Mapping[str, Any] | None, cluster: str
) -> Iterator[tuple[int, Step]]:
    default = wanted["default_account"]
    known = now["accounts"] if now else {}
    modify = ("modify", "user", "where", "name={}", cluster)
    for account, values in wanted["accounts"].items():
        settings, says = _settings(values, known.get(account))
        what = f"user {user} in account {account}"
        if account not in known:
            # the account that a user is first added to becomes the default one
            rank = 0 if account == default and not known else 1
            yield rank, _step(("add", "user", "{}", cluster, f"account={account}"), user, settings, what, *says)
        elif settings:
            yield 2, _step((*modify, f"account={account}", "set"), user, settings, what, *says)
    if known and now and now["default_account"] != default:
        says = [f"default account: {now['default_account']} becomes {default}"]
        yield 3, _step((*modify, "set"), user, [f"DefaultAccount={default}"], f"user {user}", *says)
    level = wanted.get("AdminLevel")
    if level is not None and level != (now or {}).get("AdminLevel", "None"):
        yield 3, _step((*modify, "set"), user, [f"AdminLevel={level}"], f"user {user} as {level}")


def _settings(wanted: Mapping[str, Value], now: Mapping[str, Value] | None) -> tuple[list[str], list[str]]:
    settings, says = [], []
    for field, value in wanted.items():
        before = now.get(field) if now is not None else parse(field, None)
        if before != value:
            settings.append(f"{field}={write(field, value, before)}")
            says.append(f"{field}: {_shown(field, before)} becomes {_shown(field, value)}")
    return settings, says


def _shown(field: str, value: Value) -> str:
    return "none" if value is None or value in ([], {}) else write(field, value)


def _told(steps: list[Step], trouble: str | None) -> dict[str, str | None]:
    told = {"slurmdbd": f"does not answer ({trouble}): shown as if it held nothing\n"} if trouble else {}
    for step in steps:
        for what, how in step.changes:
            told[what] = told.get(what, "") + (f"{how}\n" if how else "")
    return {what: how or None for what, how in told.items()}


def _step(words: tuple[str, ...], name: str, settings: Sequence[str], what: str, *says: str) -> Step:
    return Step(words, (name,), tuple(settings), ((what, "\n".join(says)),))


def _together(steps: list[Step]) -> list[Step]:
    """Join commands that differ in the name alone, at the place of the first of them."""
    alike: dict[tuple[object, ...], list[Step]] = {}
    for step in steps:
        alike.setdefault((step.words, step.settings), []).append(step)
    return [
        Step(
            words=some[0].words,
            names=tuple(name for step in some for name in step.names),
            settings=some[0].settings,
            changes=tuple(change for step in some for change in step.changes),
        )
        for group in alike.values()
        for some in (group[start : start + _TOGETHER] for start in range(0, len(group), _TOGETHER))
    ]


def _parents_first(accounts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    order: list[str] = []

    def visit(name: str, below: tuple[str, ...]) -> None:
        if name in accounts and name not in order and name not in below:
            visit(accounts[name]["parent"], (*below, name))
            order.append(name)

    for name in accounts:
        visit(name, ())
    return order


def _tres(clean: Mapping[str, Any]) -> set[str]:
    owners = [*clean["qos"].values(), *clean["accounts"].values()]
    owners += [values for user in clean["users"].values() for values in user["accounts"].values()]
    return {tres for values in owners for value in values.values() if isinstance(value, dict) for tres in value}


def _without(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _only(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
