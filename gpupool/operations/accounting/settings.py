"""The settings of sacctmgr commands, and the input of `sacctmgr load`, from fields."""

from collections.abc import Iterator, Mapping

from gpupool.change import Aspect
from gpupool.operations.accounting.steps import Step
from gpupool.slurm.keys.limits import SET_AS, Value, parse, write

#: The names of fields of an association in the input of `sacctmgr load`.
LOADED = {
    "Fairshare": "Fairshare", "GrpTRES": "GrpTRES", "GrpTRESMins": "GrpTRESMins", "GrpTRESRunMins": "GrpTRESRunMins",
    "GrpJobs": "GrpJobs", "GrpSubmit": "GrpSubmitJobs", "MaxJobs": "MaxJobs", "MaxSubmit": "MaxSubmitJobs",
    "MaxTRES": "MaxTRESPerJob", "MaxTRESPerNode": "MaxTRESPerNode", "MaxTRESMins": "MaxTRESMinsPerJob",
    "QOS": "QOS", "DefaultQOS": "DefaultQOS",
}  # fmt: skip

#: The lines of users by their account, each with its item ("": no change to show) and what it changes.
Added = dict[str, list[tuple[str, tuple[str, tuple[Aspect, ...]]]]]


def settings(wanted: Mapping[str, Value], now: Mapping[str, Value] | None) -> tuple[list[str], list[Aspect]]:
    """Return the settings that change `now`, or Slurm's defaults, to `wanted`, and what they change."""
    words = [f"{SET_AS.get(name, name)}={text}" for name, text in _pairs(wanted, now)]
    differs = []
    for name, value in wanted.items():
        before = now.get(name) if now is not None else parse(name, None)
        if before != value:
            differs.append(Aspect(_shown(name, value), _shown(name, before), name))
    return words, differs


def user_line(user: str, partition: str, default: str | None, fields: Mapping[str, Value]) -> tuple[str, list[Aspect]]:
    """Return the line of `load` that adds an association with the fields of `LOADED`, and what it sets.

    `default` is the default account of a new user.
    """
    _, differs = settings(loaded(fields), None)
    options = [f"Partition='{partition}'"] if partition else []
    options += [f"DefaultAccount='{default}'"] if default else []
    options += [f"{LOADED[name]}='{text}'" for name, text in _pairs(loaded(fields), None)]
    return ":".join([f"User - '{user}'", *options]), differs


def loaded(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return the fields that `sacctmgr load` sets."""
    return {name: value for name, value in fields.items() if name in LOADED}


def load(cluster: str, added: Added) -> Iterator[Step]:
    """Add all associations of users in one command, which is one commit of slurmdbd."""
    if not added:
        return
    lines = [f"Cluster - '{cluster}'"]
    for account, members in added.items():
        lines += [f"Parent - '{account}'", *(line for line, _ in members)]
    changes = tuple(change for members in added.values() for _, change in members if change[0])
    yield Step(("load", "/dev/stdin"), (), (), changes, "\n".join(lines))


def without(values: Mapping[str, Value], names: tuple[str, ...]) -> dict[str, Value]:
    """Return the values without those of some names."""
    return {name: value for name, value in values.items() if name not in names}


def _pairs(wanted: Mapping[str, Value], now: Mapping[str, Value] | None) -> Iterator[tuple[str, str]]:
    for name, value in wanted.items():
        before = now.get(name) if now is not None else parse(name, None)
        if before != value:
            yield name, write(name, value, before)


def _shown(name: str, value: Value) -> str:
    return "none" if value is None or value in ([], {}) else write(name, value)
