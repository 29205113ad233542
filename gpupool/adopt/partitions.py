"""Partitions of slurm.conf as partitions of an inventory, with the accounts, QoS and groups that they name."""

from collections.abc import Callable, Iterator
from typing import Any

from gpupool.adopt.draft import Draft
from gpupool.adopt.folder import Folder
from gpupool.adopt.lines import Fact
from gpupool.adopt.nodes import Names, selector
from gpupool.adopt.slurm_conf import Entry, SlurmConf
from gpupool.adopt.values import in_seconds, options, span, whole
from gpupool.cluster.complaints import Path, Place
from gpupool.slurm.booleans import YES
from gpupool.slurm.hostlists import expand, fold_set

_NO = frozenset(("no", "none", "all", "unlimited", "infinite"))
_ACTIONS = {"requeue": "requeue", "cancel": "cancel"}


def add_partitions(draft: Draft, folder: Folder, conf: SlurmConf, names: Names) -> None:
    """Add all partitions that have nodes to a draft."""
    preempts = _preemption(draft, conf)
    defaults = [entry for entry in conf.of("PartitionName") if (entry.value("default") or "no").lower() in YES]
    for entry in conf.of("PartitionName"):
        facts = [entry.head, *entry.facts.values()]
        nodes = list(dict.fromkeys(_nodes(folder, conf, entry, names)))
        if not nodes:
            message = f"the partition {entry.name} has no nodes and is left out"
            folder.complain(entry.place, message, "slurmctld refuses it")
            draft.drop("a partition of no nodes", *facts)
            continue
        path = draft.append("partitions")
        draft.say((*path, "name"), entry.name, entry.head)
        draft.say((*path, "nodes"), selector(names, nodes), entry.facts.get("nodes"))
        _add_keys(draft, path, entry, preempts)
    for entry in defaults[:-1]:
        folder.complain(entry.place, "Default=YES is repeated in another partition: Slurm takes the last")
    kept = {partition["name"] for partition in draft.data.get("partitions", [])}
    for entry in (one for one in conf.of("PartitionName") if one.name in kept):
        fact = entry.facts.get("default")
        if entry in defaults[:-1]:
            draft.drop("another partition is the default", fact)
        elif fact is not None:
            draft.say(("scheduler", "default_partition"), defaults[-1].name if defaults else "none", fact)
    if not defaults and draft.data.get("partitions"):
        draft.say(("scheduler", "default_partition"), "none")


def _nodes(folder: Folder | None, conf: SlurmConf, entry: Entry, names: Names) -> Iterator[str]:
    """Yield the nodes of a partition; NodeSets become their nodes, and unknown names are troubles."""
    fact = entry.facts.get("nodes")
    if fact is None:
        return
    try:
        written = expand(fact.value)
    except ValueError as error:
        _complain(folder, fact.place, str(error))
        return
    sets = {one.name: one for one in conf.of("NodeSet")}
    unknown = []
    for name in written:
        if name.upper() == "ALL":
            yield from names.new
        elif name in names.new:
            yield name
        elif name in sets:
            yield from _of_set(folder, sets[name], names)
        else:
            unknown.append(name)
    if unknown:
        _complain(folder, fact.place, f"no line of nodes has {fold_set(unknown)}; left out of partition {entry.name}")


def nodes_of(conf: SlurmConf, entry: Entry, names: Names) -> list[str]:
    """Return the nodes of a partition by their names in Slurm, in their order there, each once."""
    return list(dict.fromkeys(_nodes(None, conf, entry, names)))


def _of_set(folder: Folder | None, entry: Entry, names: Names) -> Iterator[str]:
    feature = entry.value("feature")
    if feature:
        yield from (name for name, own in names.features.items() if feature in own)
    try:
        yield from (name for name in expand(entry.value("nodes") or "") if name in names.new)
    except ValueError as error:
        _complain(folder, entry.place, str(error))


def _complain(folder: Folder | None, place: Place, message: str) -> None:
    if folder is not None:
        folder.complain(place, message)


def _add_keys(draft: Draft, path: Path, entry: Entry, preempts: bool) -> None:
    left = {key: fact for key, fact in entry.facts.items() if key not in ("nodes", "default")}
    if (old := left.pop("priority", None)) is not None:  # Slurm's older key for both
        factor = Fact("PriorityJobFactor", old.value, old.place)
        left = {"prioritytier": old, "priorityjobfactor": factor, **left}
    for name, (key, convert) in _WORDS.items():
        if draft.leaves("partition", name) or (fact := left.pop(name, None)) is None:
            continue
        try:
            value = convert(fact.value)
        except ValueError as error:
            draft.drop(str(error), fact)
            continue
        if value is None:  # what the language has without the key
            draft.say(path[:1], draft.data["partitions"], fact)
        else:
            draft.say((*path, key), value, fact)
        _add_named(draft, key, value)
    if preempts:
        _add_preemption(draft, path, left)
    for fact in left.values():
        if (fact.key.lower(), fact.value.lower()) in _EXCLUSIVE:
            draft.say((*path, "exclusive"), _EXCLUSIVE[fact.key.lower(), fact.value.lower()], fact)
        elif fact.key.lower() == "state" and fact.value.lower() == "up":
            draft.same(fact) if _known(draft, fact) else draft.say(path[:1], draft.data["partitions"], fact)
        else:
            draft.keep((*path, "parameters"), fact)


def _known(draft: Draft, fact: Fact) -> bool:
    return (fact.place, fact.key.lower()) in draft.fates


def _add_named(draft: Draft, key: str, value: Any) -> None:
    """Define the accounts, QoS and groups that a partition names: an inventory defines every name that it uses."""
    if key in ("allow_accounts", "deny_accounts"):
        known = {account["name"] for account in draft.data.setdefault("accounts", [])}
        draft.data["accounts"] += [
            {"name": name, "kind": "shared", "exact": False} for name in value or () if name not in known
        ]
    elif key == "qos":
        draft.data.setdefault("qos", {}).update({name: {} for name in value or ()})
    elif key == "allow_groups":
        groups = draft.data.setdefault("access", {}).setdefault("other_groups", [])
        groups += [name for name in value or () if name not in groups]


def _preemption(draft: Draft, conf: SlurmConf) -> bool:
    """Say how jobs are preempted; return whether partitions decide about it, in words of the language."""
    if draft.leaves("slurm_conf", "PreemptType"):
        return False  # add_settings keeps it in Slurm's own words
    kind, mode = conf.settings.get("preempttype", ()), conf.settings.get("preemptmode", ())
    word = (conf.value("preemptmode") or "off").lower()
    if not kind or (conf.value("preempttype") or "").lower() == "preempt/none":
        draft.say(("partitions",), draft.data.setdefault("partitions", []), *kind, *(mode if word == "off" else ()))
        if word != "off":
            draft.drop("without PreemptType, no job is preempted", *mode)
        return False
    if (conf.value("preempttype") or "").lower() != "preempt/partition_prio" or word not in (*_ACTIONS, "off"):
        draft.drop("the language has tiers of partitions that requeue or cancel, and QoS of slurmdbd", *kind, *mode)
        return False
    if word in _ACTIONS:
        draft.say(("preemption", "action"), _ACTIONS[word], *mode)
    draft.say(("partitions",), draft.data.setdefault("partitions", []), *kind, *(mode if word == "off" else ()))
    draft.data["preemption"] = {**draft.data.get("preemption", {}), "send_user_signal": False}
    return True


def _add_preemption(draft: Draft, path: Path, left: dict[str, Fact]) -> None:
    own, grace = left.pop("preemptmode", None), left.pop("gracetime", None)
    cluster = draft.data["preemption"].get("action", "off")
    word = own.value.lower() if own else cluster
    if word not in ("off", *_ACTIONS):
        draft.drop("the language has no such action for these nodes", own, grace)
        return
    draft.say((*path, "preemptable"), word != "off", own)
    if word not in ("off", cluster):
        draft.say((*path, "preempt_action"), word, own)
    if grace is None:
        return
    try:
        draft.say((*path, "grace"), in_seconds(grace.value), grace)
    except ValueError as error:
        draft.drop(str(error), grace)


def _names(text: str) -> list[str] | None:
    return [name for name in options(text) if name.lower() != "all"] or None


def _accounts(text: str) -> list[str] | None:
    found = _names(text)
    return [name.lower() for name in found] if found else None


def _limit(text: str) -> int | None:
    return None if text.lower() in _NO else whole(text)


def prices(text: str) -> dict[str, Any]:
    """Return TRESBillingWeights as prices: memory per GiB, where Slurm has it per MiB without a unit."""
    prices: dict[str, Any] = {}
    for item in options(text):
        name, _, weight = item.partition("=")
        unit = {"m": 1024, "g": 1, "t": 1 / 1024}.get(weight[-1:].lower())
        price = float(weight[:-1] if unit else weight)
        match name.lower().split(":"):
            case ["cpu"] if unit is None:
                prices["cpu"] = price
            case ["mem"]:
                prices["mem"] = price * (unit or 1024)
            case ["gres/gpu"] if unit is None:
                prices["gpu"] = price
            case ["gres/gpu", _] if unit is None:
                prices.setdefault("gpus", {})[name.split(":")[1]] = price
            case _:
                raise ValueError(f"the language has no price of {name[:40]}")
    return prices


_EXCLUSIVE = {
    ("oversubscribe", "exclusive"): "job",
    ("shared", "exclusive"): "job",
    ("exclusiveuser", "yes"): "user",
}
#: Keys of a partition with their words and what converts a value; None: the value is what the language has without it.
_WORDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "maxtime": ("max_time", lambda text: span(text) or "infinite"),
    "defaulttime": ("default_time", span),
    "maxnodes": ("max_nodes", _limit),
    "prioritytier": ("tier", whole),
    "priorityjobfactor": ("priority", whole),
    "allowaccounts": ("allow_accounts", _accounts),
    "denyaccounts": ("deny_accounts", _accounts),
    "allowgroups": ("allow_groups", _names),
    "allowqos": ("qos", _names),
    "tresbillingweights": ("billing", prices),
    "defcpupergpu": ("default_cpus_per_gpu", whole),
}
