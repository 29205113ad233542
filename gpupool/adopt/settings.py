"""The settings of slurm.conf and cgroup.conf as words of the language, or in Slurm's own words."""

from collections.abc import Callable, Iterable
from typing import Any

from gpupool.adopt.draft import Draft
from gpupool.adopt.lines import Fact
from gpupool.adopt.slurm_conf import SlurmConf
from gpupool.adopt.values import in_seconds, is_secret, options, readable, size, whole
from gpupool.cluster.complaints import Path
from gpupool.slurm.booleans import YES
from gpupool.slurm.keys.tables import own
from gpupool.slurm.releases import has

# add_nodes and add_partitions take these
_ELSEWHERE = frozenset(
    (
        *("clustername", "slurmctldhost", "controlmachine", "controladdr", "backupcontroller", "backupaddr"),
        *("accountingstoragehost", "preempttype", "preemptmode"),
    )
)
#: Values that Slurm has without a line, and gpupool's slurm.conf does not have: slurm.conf(5) of 24.11.
_DEFAULTS = {
    "KillWait": "30",
    "ReturnToService": "0",
    "JobAcctGatherType": "jobacct_gather/none",
    "UnkillableStepTimeout": "60",
}
_WEIGHTS = {
    "priorityweightqos": "qos",
    "priorityweightpartition": "partition",
    "priorityweightage": "age",
    "priorityweightfairshare": "fairshare",
    "priorityweightjobsize": "job_size",
}


def allocates_cores(conf: SlurmConf) -> bool:
    """Return whether Slurm allocates cores, with all their threads, and not single CPUs."""
    return is_by_core(conf.value("selecttypeparameters") or "CR_Core_Memory")


def is_by_core(text: str) -> bool:
    """Return whether a value of SelectTypeParameters allocates cores."""
    return not {"cr_cpu", "cr_cpu_memory"} & {word.lower() for word in options(text)}


def add_settings(draft: Draft, conf: SlurmConf, cgroup: Iterable[list[Fact]], files: Iterable[str]) -> None:
    """Add all settings to a draft. `files` are the names of the site's own files for the folder `slurm`."""
    draft.data["policies"] = {"reboot_only_idle": False}
    draft.data.setdefault("slurm", {})["exact_accounting"] = False
    weights = {word: 0 for name, word in _WEIGHTS.items() if not draft.leaves("slurm_conf", name)}
    draft.data.setdefault("scheduler", {})["priority_weights"] = weights
    for name, facts in conf.settings.items():
        if name in _ELSEWHERE and not draft.leaves("slurm_conf", name):
            continue
        if len(facts) > 1:
            draft.drop("repeated: a parameter has one value", *facts[:-1])
        _add(draft, name, facts[-1], {*files})
    for key, value in _DEFAULTS.items():
        if conf.value(key) is None and not draft.leaves("slurm_conf", key):
            number = int(value) if value.isdecimal() else value
            draft.add(("slurm", "parameters", key), number, "Slurm's default, which differs from gpupool's")
    if conf.value("statesavelocation") is None and "place" in draft.data["slurm"].get("left", ()):
        draft.say(("slurm", "state"), "/var/spool")  # Slurm's default
    draft.data["gpu"] = {"constrain_devices": False}
    if has(draft.data["slurm"]["version"], "SystemdTimeout") and not draft.leaves("cgroup", "SystemdTimeout"):
        draft.data["slurm"]["cgroup"] = {"parameters": {"SystemdTimeout": 1000}}
    for fact in (fact for line in cgroup for fact in line):
        if fact.key.lower() == "constraindevices":
            draft.say(("gpu", "constrain_devices"), fact.value.lower() in YES, fact)
        else:
            draft.keep(("slurm", "cgroup", "parameters"), fact)


def _add(draft: Draft, name: str, fact: Fact, files: set[str]) -> None:
    rest = readable(name, fact.value, draft.data["slurm"]["version"])
    if is_secret(name, fact.value):
        draft.drop("a secret: an inventory has none", Fact(fact.key, "…", fact.place))
    elif rest != fact.value:
        if rest:
            _add(draft, name, Fact(fact.key, rest, fact.place), files)
        gone = [option for option in options(fact.value) if option not in options(rest)]
        draft.drop(f"this release of Slurm does not have {', '.join(gone)}", fact)
    elif draft.leaves("slurm_conf", name):
        draft.keep(("slurm", "parameters"), fact)
    elif name in _WEIGHTS:
        _say(draft, ("scheduler", "priority_weights", _WEIGHTS[name]), whole, fact)
        if name == "priorityweightfairshare" and fact.value.strip("0"):
            draft.say(("scheduler", "fairshare"), "accounts", fact)
    elif name in _WORDS:
        path, convert = _WORDS[name]
        _say(draft, path, convert, fact)
    elif name == "selecttypeparameters":
        _select(draft, fact)
    elif name == "jobsubmitplugins" and fact.value.lower() == "lua" and "job_submit.lua" in files:
        draft.keep_in("slurm/job_submit.lua", fact)
    elif name == "grestypes":
        _gres_types(draft, fact)
    else:
        _keep(draft, name, fact)


def _say(draft: Draft, path: Path, convert: Callable[[str], Any], fact: Fact) -> None:
    try:
        value = convert(fact.value)
    except ValueError:
        draft.keep(("slurm", "parameters"), fact)
    else:
        draft.say(path, value, fact)


def _keep(draft: Draft, name: str, fact: Fact) -> None:
    """Keep a setting as a parameter, without the options that gpupool writes itself."""
    own_options = {entry.option for entry in own("slurm_conf").get(name, ()) if entry.option and not entry.when}
    _say_options(draft, fact)
    named = {option: option.partition("=")[0].lower() for option in options(fact.value)}
    rest = [option for option, word in named.items() if word not in own_options]
    if len(rest) == len(named):
        draft.keep(("slurm", "parameters"), fact)
    elif rest:
        draft.keep(("slurm", "parameters"), Fact(fact.key, ",".join(rest), fact.place))
    else:
        draft.drop("gpupool sets these options", fact)


def _say_options(draft: Draft, fact: Fact) -> None:
    """Say the options of a list that are words of the language."""
    values = {word.lower(): value for word, _, value in (option.partition("=") for option in options(fact.value))}
    if {"send_user_signal", "preempt_send_user_signal"} & {*values}:
        draft.say(("preemption", "send_user_signal"), True, fact)
    if values.get("cred_expire", "").isdecimal():
        draft.say(("preemption", "requeue_delay"), in_seconds(values["cred_expire"]), fact)
    if "rl_enable" in values and values.keys() >= {"rl_bucket_size", "rl_refill_rate"}:
        rates = [values[word] for word in ("rl_bucket_size", "rl_refill_rate")]
        if all(map(str.isdecimal, rates)):
            draft.say(("scheduler", "rpc_limit"), {"bucket": int(rates[0]), "refill": int(rates[1])}, fact)


def _select(draft: Draft, fact: Fact) -> None:
    chosen = {word.lower() for word in options(fact.value)}
    if is_by_core(fact.value) and draft.data["scheduler"]["allocate"] == "thread":
        draft.drop("CPUs of some nodes are not sockets times cores times threads, which cores need", fact)
    elif chosen == {"cr_cpu_memory"}:
        draft.say(("scheduler", "allocate"), "thread", fact)
    elif chosen in ({"cr_core_memory"}, {"cr_core_memory", "cr_one_task_per_core"}):
        draft.say(("scheduler", "allocate"), "core", fact)
        if len(chosen) > 1:
            draft.say(("scheduler", "one_task_per_core"), True, fact)
    else:
        draft.drop("the language has CR_CPU_Memory and CR_Core_Memory[,CR_ONE_TASK_PER_CORE]", fact)


def _gres_types(draft: Draft, fact: Fact) -> None:
    has = {"gpu"} if draft.data.get("gpu_types") else set()
    has |= {name for node in draft.data["nodes"] for name in node.get("gres", {})}
    if missing := {word.lower() for word in options(fact.value)} - has:
        draft.drop(f"no node of the inventory has {', '.join(sorted(missing))}", fact)
    else:
        draft.say(("nodes",), draft.data["nodes"], fact)


def _private(text: str) -> list[str]:
    return [word.lower() for word in options(text)]


def _enforced(text: str) -> str:
    words = {"yes": "any", "any": "any", "all": "all"}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


_WORDS: dict[str, tuple[Path, Callable[[str], Any]]] = {
    "statesavelocation": (("slurm", "state"), str),
    "slurmdspooldir": (("slurm", "spool"), str),
    "slurmctldtimeout": (("slurm", "controller_timeout"), in_seconds),
    "privatedata": (("scheduler", "private_data"), _private),
    "enforcepartlimits": (("scheduler", "enforce_limits"), _enforced),
    "defcpupergpu": (("scheduler", "default_cpus_per_gpu"), whole),
    "defmempercpu": (("scheduler", "default_memory", "per_cpu"), size),
    "defmempergpu": (("scheduler", "default_memory", "per_gpu"), size),
    "defmempernode": (("scheduler", "default_memory", "per_node"), size),
}
