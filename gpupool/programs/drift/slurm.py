"""Compare slurm.conf of the inventory, slurm.conf on the controller, and the settings that slurmctld runs with.

`scontrol update` changes only the last, and no file. Partitions and nodes are compared key by key, if scontrol shows
the key in the form of slurm.conf. For all other keys, slurmctld reports whether it runs with its file (HASH_VAL).
"""

import re
from collections.abc import Iterator, Mapping

from gpupool.slurm import nodes, times
from gpupool.slurm.hostlists import expanded
from gpupool.slurm.records import pairs

from .difference import ARBITER, HEALTH, LOST, NONE, PUT_BACK, READ_LATER, SILENT, STAYS, UNREAD, Difference
from .state import SlurmState

#: Defaults of the keys of a partition that `scontrol update` can change.
_PARTITION = {
    "MaxTime": "UNLIMITED", "DefaultTime": "NONE", "Default": "NO", "State": "UP", "AllowAccounts": "ALL",
    "AllowGroups": "ALL", "AllowQos": "ALL", "DenyAccounts": "", "DenyQos": "", "MaxNodes": "UNLIMITED",
    "PriorityTier": "1", "PriorityJobFactor": "1", "QoS": "N/A", "Hidden": "NO", "RootOnly": "NO",
    "OverSubscribe": "NO", "GraceTime": "0", "Nodes": "",
}  # fmt: skip
_NODE = {"Gres": "", "Feature": "", "Weight": "1", "RealMemory": "1"}
_SCONTROL_NAMES = {"Feature": "AvailableFeatures"}  # scontrol's names of keys, if they differ
_CONFIG = {"SlurmctldDebug": "info", "DebugFlags": ""}  # keys of the configuration that scontrol can change
_LEVELS = ("quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5")
_TIMES = ("MaxTime", "DefaultTime")
_NOTHING = ("(null)", "n/a", "none", "unlimited", "infinite", "")
Conf = dict[tuple[str, str], dict[str, str]]


def differences(controller: str, wanted: str, state: SlurmState, names: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the differences between the text `wanted`, the text on the `controller`, and slurmctld.

    `names` are the nodes by their names in Slurm; other nodes are not compared.
    """
    ours, on_file = parsed(wanted), parsed(state.text)
    yield from _config(controller, ours["config", ""], on_file["config", ""], state)
    if wanted.strip() == state.text.strip() and state.config.get("HASH_VAL", "").startswith("Different"):
        yield Difference(controller, "slurm", "slurm.conf", "as the file", "is newer", "runs with an older one", UNREAD)
    if state.arbiter:
        yield Difference(controller, "state", "arbiter", "well", NONE, state.arbiter, ARBITER)
    yield from _entries(controller, "partition", ours, on_file, state.partitions)
    yield from _nodes(controller, ours, on_file, state, names)


def parsed(text: str) -> Conf:
    """Return the keys of slurm.conf by (config, ""), (partition, NAME) or (node, NAME), DEFAULT lines included."""
    conf: Conf = {("config", ""): {}}
    defaults: dict[str, dict[str, str]] = {"PartitionName": {}, "NodeName": {}}
    for line in re.sub(r"\\\n", "", text).splitlines():
        words = pairs(line.split("#", 1)[0].strip())
        first = next(iter(words), "")
        kind = next((name for name in defaults if name.lower() == first.lower()), "")
        if not kind:
            conf["config", ""] |= words
        elif words[first] == "DEFAULT":
            defaults[kind] |= words
        else:
            whole = _own_names({**defaults[kind], **words})
            listed = [words[first]] if kind == "PartitionName" else expanded(words[first])
            conf |= {("partition" if kind == "PartitionName" else "node", name): whole for name in listed}
    return conf


def _config(
    controller: str, ours: Mapping[str, str], on_file: Mapping[str, str], state: SlurmState
) -> Iterator[Difference]:
    for key in dict.fromkeys((*ours, *on_file)):
        if ours.get(key) != on_file.get(key):
            live = state.config.get(key, NONE)
            then = READ_LATER if live.split(" ")[0] != on_file.get(key) else PUT_BACK
            yield Difference(controller, "slurm", key, ours.get(key, NONE), on_file.get(key, NONE), live, then)
    for key, default in _CONFIG.items():
        wanted, runs = on_file.get(key, default), state.config.get(key)
        if runs is not None and ours.get(key) == on_file.get(key) and not same(key, wanted, runs):
            yield Difference(controller, "slurm", key, wanted or NONE, wanted or NONE, runs, LOST)


def _entries(
    controller: str, kind: str, ours: Conf, on_file: Conf, live: Mapping[str, Mapping[str, str]]
) -> Iterator[Difference]:
    known = [name for what, name in dict.fromkeys((*ours, *on_file)) if what == kind]
    for name in dict.fromkeys((*known, *live)) if live else known:
        columns = [ours.get((kind, name)), on_file.get((kind, name)), live.get(name) if live else {}]
        if any(column is None for column in columns):
            here, filed, runs = ("absent" if column is None else "present" for column in columns)
            then = LOST if here == filed == "absent" else UNREAD if here == filed else PUT_BACK
            yield Difference(controller, "slurm", f"partition {name}", here, filed, runs if live else NONE, then)
        else:
            yield from _keys(controller, f"partition {name}", _PARTITION, *(column or {} for column in columns))


def _keys(
    node: str,
    what: str,
    keys: Mapping[str, str],
    ours: Mapping[str, str],
    on_file: Mapping[str, str],
    live: Mapping[str, str],
) -> Iterator[Difference]:
    for key in dict.fromkeys((*keys, *ours, *on_file)):
        default, shown = keys.get(key, ""), _SCONTROL_NAMES.get(key, key)
        wanted, filed, runs = ours.get(key, default), on_file.get(key, default), live.get(shown)
        # keys that scontrol does not show are compared only between the two files
        unread = key in keys and runs is not None and not same(key, filed, runs)
        if same(key, wanted, filed) and not unread:
            continue
        then = LOST if same(key, wanted, filed) else READ_LATER if unread else PUT_BACK
        here, file, running = (_shown(key, value or NONE) for value in (wanted, filed, runs))
        yield Difference(node, "slurm", f"{what} {key}".strip(), here, file, running, then)


def _nodes(
    controller: str, ours: Conf, on_file: Conf, state: SlurmState, names: Mapping[str, str]
) -> Iterator[Difference]:
    for slurm_name, node in names.items():
        wanted, filed = (conf.get(("node", slurm_name)) for conf in (ours, on_file))
        live = state.nodes.get(slurm_name)
        if wanted is None:
            continue
        if filed is None or (live is None and state.nodes):
            says = ("present", "absent" if filed is None else "present", "present" if live else "absent")
            yield Difference(node, "slurm", "node in Slurm", *says, PUT_BACK if filed is None else UNREAD)
            continue
        less = {key: value for key, value in wanted.items() if key != "State"}
        yield from _keys(node, "", _NODE, less, {key: filed[key] for key in filed if key != "State"}, live or {})
        yield from _state(node, slurm_name, live or {})


def _state(node: str, slurm_name: str, live: Mapping[str, str]) -> Iterator[Difference]:
    known = nodes.state(live)
    # a plan compares the drains of nodes that the inventory has out of service
    if "State" not in live or not known.is_bad or known.is_ours(nodes.OUT_OF_SERVICE):
        return
    then = HEALTH if known.is_ours(nodes.HEALTH) else STAYS.format(slurm_name) if known.drained else SILENT
    shown = f"{live['State']} {live.get('Reason', '')}".strip()
    yield Difference(node, "state", "state in Slurm", "in service", NONE, shown, then)


def same(key: str, left: str, right: str) -> bool:
    """Return whether two values of a key are equivalent: 2880 and 2-00:00:00, a,b and b,a, NONE and (null)."""
    return _normal(key, left) == _normal(key, right)


def _normal(key: str, value: str) -> object:
    text = value.lower()
    if text in _NOTHING:
        return ""
    if key in _TIMES:
        return _seconds(text)
    if key == "Nodes":
        return frozenset(expanded(value))
    if key == "SlurmctldDebug" and text in map(str, range(len(_LEVELS))):
        return frozenset((_LEVELS[int(text)],))
    return frozenset(re.sub(r"\([^)]*\)", "", text).split(","))


def _seconds(text: str) -> int | str | None:
    """Return a time of slurm.conf(5), where bare numbers are minutes, in seconds; return other text unchanged."""
    try:
        return times.seconds(text)
    except ValueError:
        return text


def _shown(key: str, value: str) -> str:
    """Return a time in scontrol's form, so that an admin can compare the columns; other values unchanged."""
    count = _seconds(value) if key in _TIMES else value
    return times.duration(count) if isinstance(count, int) else value


def _own_names(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs with keys spelled as in this module: slurm.conf accepts any case."""
    known = {key.lower(): key for key in (*_PARTITION, *_NODE)} | {"features": "Feature", "shared": "OverSubscribe"}
    left = ("partitionname", "nodename", "nodeaddr", "nodehostname")
    return {known.get(key.lower(), key): value for key, value in pairs.items() if key.lower() not in left}
