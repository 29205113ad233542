"""The meaning of a slurm.conf: each value in one form, with Slurm's defaults, so that two files can be compared.

Defaults: src/common/read_config.h and slurm.conf(5) of 24.11. A key that neither file has is not compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from gpupool.adopt.hardware import gres_of, machine
from gpupool.adopt.lines import Fact
from gpupool.adopt.partitions import prices
from gpupool.adopt.slurm_conf import Entry, SlurmConf
from gpupool.adopt.values import is_no_default_time, is_secret, options
from gpupool.cluster.complaints import Place
from gpupool.slurm.booleans import NO, YES
from gpupool.slurm.hostlists import expanded, one_each
from gpupool.slurm.keys.tables import keys
from gpupool.slurm.times import NO_LIMIT, seconds

#: A value by its section (settings, cgroup, node or partition), its key in lower case, and the node or partition.
Meaning = dict[tuple[str, str, str], str]

_SETTINGS = {
    "accountingstorageenforce": "none",
    "accountingstoragehost": "localhost",
    "accountingstoragetype": "accounting_storage/none",
    "authtype": "auth/munge",
    "defmempercpu": "0",
    "defmempergpu": "0",
    "defmempernode": "0",
    "enforcepartlimits": "no",
    "jobacctgathertype": "jobacct_gather/none",
    "killwait": "30",
    "preemptmode": "off",
    "preempttype": "preempt/none",
    "prioritytype": "priority/multifactor",
    "priorityweightage": "0",
    "priorityweightfairshare": "0",
    "priorityweightjobsize": "0",
    "priorityweightpartition": "0",
    "priorityweightqos": "0",
    "proctracktype": "proctrack/cgroup",
    "returntoservice": "0",
    "schedulertype": "sched/backfill",
    "selecttype": "select/cons_tres",
    "selecttypeparameters": "cr_core_memory",
    "slurmctldport": "6817",
    "slurmctldtimeout": "120",
    "slurmdport": "6818",
    "slurmduser": "root",
    "slurmdspooldir": "/var/spool/slurmd",
    "slurmdtimeout": "300",
    "slurmuser": "root",
    "statesavelocation": "/var/spool",
    "tmpfs": "/tmp",
    "unkillablesteptimeout": "60",
}
_PARTITION = {
    "allowaccounts": "all",
    "allowgroups": "all",
    "allowqos": "all",
    "default": "no",
    "defaulttime": "none",
    "exclusiveuser": "no",
    "gracetime": "0",
    "maxnodes": "unlimited",
    "maxtime": "unlimited",
    "oversubscribe": "no",
    "priorityjobfactor": "1",
    "prioritytier": "1",
    "state": "up",
}
_NODE = {"corespersocket": "1", "threadspercore": "1"}
_CGROUP = {"cgroupplugin": "autodetect", "systemdtimeout": "1000"}
# Priority is Slurm's older key for PriorityTier and PriorityJobFactor together
_OLD = {"shared": "oversubscribe", "priority": "prioritytier"}
_CPUS = {"cpus": "cpus", "sockets": "sockets", "corespersocket": "cores", "threadspercore": "threads"}
_HOSTS = ("slurmctldhost", "controlmachine", "controladdr", "backupcontroller", "backupaddr")
_ENFORCED = {
    "safe": {"safe", "limits", "associations"},
    "limits": {"limits", "associations"},
    "qos": {"qos", "associations"},
}


def meaning(conf: SlurmConf, nodes_of: Callable[[Entry], list[str]]) -> Meaning:
    """Return the values of a slurm.conf; `nodes_of` returns the nodes of a partition."""
    found: Meaning = {("settings", "slurmctldhost", ""): " ".join(_controllers(conf))}
    for name, facts in conf.settings.items():
        if name not in _HOSTS and (conf.has_slurmdbd or name != "accountingstoragehost"):
            found["settings", name, ""] = _setting(name, facts[-1].value)
    for entry in conf.of("NodeName"):
        found.update(_node(entry))
    default_one = ""
    for entry in conf.of("PartitionName"):
        found["partition", "partitionname", entry.name] = entry.name if nodes_of(entry) else ""
        found["partition", "nodes", entry.name] = ",".join(sorted({*nodes_of(entry)}))
        mode = (conf.value("preemptmode") or "off").lower()
        for key, value in _of_partition(entry, mode):
            found["partition", key, entry.name] = value
        if found.get(("partition", "default", entry.name)) == "yes":  # Slurm takes the last
            found |= {("partition", "default", default_one): "no"} if default_one else {}
            default_one = entry.name
    return found


def meaning_of_cgroup(lines: Iterable[list[Fact]]) -> dict[tuple[str, str, str], Fact]:
    """Return the facts of cgroup.conf by their place in a meaning, with yes and no in one form."""
    return {
        ("cgroup", fact.key.lower(), ""): Fact(fact.key, _yes_or_no(fact.value), fact.place)
        for line in lines
        for fact in line
    }


def places(conf: SlurmConf) -> dict[tuple[str, str, str], Place]:
    """Return the lines of all keys; with the key "", the line of a node or a partition itself."""
    found = {("settings", name, ""): facts[-1].place for name, facts in conf.settings.items()}
    for kind, section in (("NodeName", "node"), ("PartitionName", "partition")):
        for entry in conf.of(kind):
            for name in expanded(entry.name):
                found[section, "", name] = entry.place
                found |= {(section, key, name): fact.place for key, fact in entry.facts.items()}
    return found


def default(section: str, key: str) -> str:
    """Return the value that Slurm has without a line, in lower case; "" if it is none, or not known here."""
    if section == "cgroup":
        return "no" if key.startswith("constrain") else _CGROUP.get(key, "")
    return {"settings": _SETTINGS, "node": _NODE, "partition": _PARTITION}.get(section, {}).get(key, "")


def _controllers(conf: SlurmConf) -> Iterator[str]:
    facts = conf.settings.get("slurmctldhost", ())
    yield from (fact.value for fact in facts)
    if not facts:
        for name, address in (("controlmachine", "controladdr"), ("backupcontroller", "backupaddr")):
            if host := conf.value(name):
                at = conf.value(address)
                yield f"{host}({at})" if at and at != host else host


def _setting(name: str, text: str) -> str:
    if is_secret(name, text):
        return "…"
    words = {word.lower() for word in options(text)}
    if name == "accountingstorageenforce":
        words = set().union(*(_ENFORCED.get(word, {word}) for word in words))
    if name in _flags():
        return _yes_or_no(text)
    if name == "enforcepartlimits":
        return {"yes": "any"}.get(text.lower(), text.lower())
    return ",".join(sorted(words))


@cache
def _flags() -> frozenset[str]:
    """Return the settings whose values are yes or no."""
    return frozenset(name for name, key in keys("slurm_conf").items() if key.value.startswith("yes"))


def _yes_or_no(text: str) -> str:
    word = text.lower()
    return "yes" if word in YES else "no" if word in NO else word


def _node(entry: Entry) -> Meaning:
    made = machine(entry, cores=True)
    hardware = {name: str(made.hardware[key]) for name, key in _CPUS.items() if key in made.hardware}
    hardware |= {name: entry.facts[name].value for name in [*_CPUS][1:] if name in entry.facts}
    values = {
        **hardware,
        "realmemory": entry.value("realmemory") or "1",
        "gres": gres_of(entry),
        "feature": ",".join(sorted({*options(entry.value("feature", "features") or "")})),
        "state": {"idle": "unknown"}.get(state := (entry.value("state") or "unknown").lower(), state),
    }
    done = ("procs", *_CPUS, "socketsperboard", "boards", "features")
    values |= {
        key: fact.value for key, fact in entry.facts.items() if key not in (*values, *done, "nodeaddr", "nodehostname")
    }
    names = expanded(entry.name)
    each = {key: one_each(expanded(entry.value(key) or entry.name), len(names)) for key in ("nodeaddr", "nodehostname")}
    found: Meaning = {}
    for place, name in enumerate(names):
        found["node", "nodename", name] = name
        own = {
            key: listed[place] for key, listed in each.items() if len(listed) == len(names) and listed[place] != name
        }
        found |= {("node", key, name): value for key, value in {**values, **own}.items()}
    return found


def _of_partition(entry: Entry, mode: str) -> Iterator[tuple[str, str]]:
    both = {"priorityjobfactor": entry.facts["priority"].value} if "priority" in entry.facts else {}
    facts: Mapping[str, str] = {**both, **{_OLD.get(key, key): fact.value for key, fact in entry.facts.items()}}
    yield "preemptmode", facts.get("preemptmode", mode).lower()
    for key, text in facts.items():
        if key in ("nodes", "preemptmode"):
            continue
        word = text.lower()
        if key in ("maxtime", "defaulttime"):
            time = _time(text)
            if key == "maxtime" or not is_no_default_time(time, _time(facts.get("maxtime", "unlimited"))):
                yield key, time
        elif key == "tresbillingweights":
            yield key, _prices(text)
        elif key in ("maxnodes",) and word in NO_LIMIT:
            yield key, "unlimited"
        elif key in ("default", "exclusiveuser", "rootonly", "hidden", "lln", "reqresv", "disablerootjobs"):
            yield key, _yes_or_no(word)
        else:
            yield key, ",".join(sorted(options(word)))


def _time(text: str) -> str:
    try:
        count = seconds(text)
    except ValueError:
        return text.lower()
    return "unlimited" if count is None else f"{count} s"


def _prices(text: str) -> str:
    try:
        return str(prices(text))
    except ValueError:
        return text.lower()
