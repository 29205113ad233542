"""Check parameters with Slurm's names: this Slurm knows each key, each is set once, and gpupool sets none of them."""

import re
from collections.abc import Collection, Iterator, Mapping

from gpupool.cluster.attachments import SLURM
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema import Inventory
from gpupool.slurm.keys.limits import parse
from gpupool.slurm.keys.tables import Key, Own, keys, of_groups, own
from gpupool.slurm.releases import KNOWN, number

#: The file or entity of each table, for messages.
_FILES = {
    "slurm_conf": "slurm.conf",
    "partition": "a partition in slurm.conf",
    "node": "a node in slurm.conf",
    "cgroup": "cgroup.conf",
    "slurmdbd": "slurmdbd.conf",
    "qos": "a QoS",
    "association": "an account",
}
# As Slurm's parse_value.c reads them; a leading 0 makes an octal number.
_VALUES = {
    "number": (re.compile(r"(0|[1-9][0-9]*)k?|unlimited|infinite", re.IGNORECASE), "must be a whole number"),
    "ratio": (re.compile(r"[0-9]+(\.[0-9]+)?|unlimited|infinite", re.IGNORECASE), "must be a number"),
    "yes or no": (re.compile(r"yes|up|true|1|no|down|false|0", re.IGNORECASE), "must be yes or no"),
}
_BOUNDS = re.compile(r"number from ([0-9]+)(?: to ([0-9]+))?")
# If both keys of a pair in `_APART` are set, Slurm ignores the first; in `_NEEDS`, the first requires the second.
_APART = {"partition": (("DefMemPerCPU", "DefMemPerNode"), ("MaxMemPerCPU", "MaxMemPerNode"))}
_NEEDS = {"slurm_conf": (("SlurmSchedLogLevel", "SlurmSchedLogFile"),)}
# With another JobAcctGatherType than ours, slurmd complains about these options at each start.
_OF_LINUX = ("usepss", "noshared")


def ensure_parameters_can_be_set(site: Site) -> Iterator[Complaint]:
    """Slurm knows each key, its value has the right type, and no other setting of the inventory sets it."""
    holds = _holds(site)
    for path, table, parameters in _places(site):
        seen: dict[str, str] = {}
        sites = of_groups(table, site.inventory.slurm.left)
        for name, value in parameters.items():
            here, key = (*path, name), keys(table).get(name.lower())
            same = key.value if key and table in ("qos", "association") else name.lower()
            first = seen.setdefault(same, name)
            if first != name:
                yield Complaint(here, f"is defined twice: {first} is the same key", "keep one")
            elif taken := _taken(table, name, value, holds, sites):
                yield _kept(here, name, taken)
            elif key is None or not key.known_in(site.inventory.slurm.version):
                yield _unknown(here, table, name, key, site.inventory.slurm.version)
            else:
                yield from _of_value(here, table, key, value, site)


def ensure_parameters_agree(site: Site) -> Iterator[Complaint]:
    """Keys that exclude each other are not both set, and a key that needs another has it."""
    for path, table, parameters in _places(site):
        names = {name.lower(): name for name in parameters}
        for one, other in _APART.get(table, ()):
            if one.lower() in names and other.lower() in names:
                yield Complaint(
                    (*path, names[one.lower()]), f"Slurm ignores it if {other} is set", "keep one of the two"
                )
        for one, other in _NEEDS.get(table, ()):
            if one.lower() in names and other.lower() not in names:
                yield Complaint((*path, names[one.lower()]), f"Slurm does not start without {other}", f"set {other}")


def ensure_jobs_are_accounted_as_they_are_gathered(site: Site) -> Iterator[Complaint]:
    """JobAcctGatherParams has options of /proc only if JobAcctGatherType reads /proc."""
    parameters = {name.lower(): (name, value) for name, value in site.inventory.slurm.parameters.items()}
    name, options = parameters.get("jobacctgatherparams", ("", ""))
    _, gathered = parameters.get("jobacctgathertype", ("", "jobacct_gather/linux"))
    wrong = [option for option in options.split(",") if option.strip().lower() in _OF_LINUX]
    if wrong and gathered.lower() != "jobacct_gather/linux":
        message = f"{' and '.join(wrong)} can only be set with JobAcctGatherType: jobacct_gather/linux"
        yield Complaint(("slurm", "parameters", name), message, "remove one of the two")


def ensure_private_data_leave_metrics(site: Site) -> Iterator[Complaint]:
    """With any PrivateData, slurmctld gives no metrics (Slurm's Metrics Guide); elastic nodes need one."""
    inventory = site.inventory
    name = next((name for name in inventory.slurm.parameters if name.lower() == "metricstype"), None)
    other = "scheduler.private_data" if inventory.scheduler.private_data else "elastic nodes"
    if name and (inventory.scheduler.private_data or "elastic" in _holds(site)):
        message = f"has no effect with {other}: slurmctld gives no metrics if PrivateData is set"
        yield Complaint(("slurm", "parameters", name), message, "remove one of the two")


def ensure_parameters_have_an_effect(site: Site) -> Iterator[Complaint]:
    """Only nodes with the role compute have parameters: others have no line in slurm.conf."""
    for index, entry in enumerate(site.inventory.nodes):
        if entry.parameters and "compute" not in entry.roles:
            message = "has no effect: only nodes with the role compute are in slurm.conf"
            yield Complaint(("nodes", index, "parameters"), message, "remove it")


def _places(site: Site) -> Iterator[tuple[Path, str, Mapping[str, str]]]:
    """Yield each mapping of parameters with its path and table."""
    inventory = site.inventory
    yield ("slurm", "parameters"), "slurm_conf", inventory.slurm.parameters
    yield ("slurm", "cgroup", "parameters"), "cgroup", inventory.slurm.cgroup.parameters
    yield ("slurm", "slurmdbd", "parameters"), "slurmdbd", inventory.slurm.slurmdbd.parameters
    for name, hardware in inventory.hardware.items():
        yield ("hardware", name, "parameters"), "node", hardware.parameters
    for index, node in enumerate(inventory.nodes):
        yield ("nodes", index, "parameters"), "node", node.parameters
    for index, partition in enumerate(inventory.partitions):
        yield ("partitions", index, "parameters"), "partition", partition.parameters
    for name, qos in inventory.qos.items():
        yield ("qos", name, "parameters"), "qos", qos.parameters
    for index, account in enumerate(inventory.accounts):
        yield ("accounts", index, "parameters"), "association", account.parameters


def _holds(site: Site) -> set[str]:
    """Return the conditions of own.tsv that hold; the empty one always holds."""
    inventory = site.inventory
    memory = inventory.scheduler.default_memory
    labs = any(account.kind == "lab" for account in inventory.accounts)
    conditions = {
        "labs": labs,
        "elastic": bool(inventory.cloud) and any(node.elastic for node in inventory.nodes),
        "ranked": labs and bool(site.machines) and memory.per_gpu is not None and memory.per_cpu is not None,
        "max_submitted_jobs": inventory.scheduler.max_submitted_jobs is not None,
        "private_tmp": inventory.environment.private_tmp is not None,
        "variables": bool(
            inventory.environment.job
            or (inventory.gpu.device_env and site.machines)
            or any(space.env for space in inventory.storage.user_spaces)
        ),
        "disk_path": any(disk.path for shape in inventory.hardware.values() if (disk := shape.local_disk)),
        "job_directory": inventory.environment.job_directory is not None,
        "shm_clean": any(timer.job == "shm-clean" for timer in inventory.timers),
        "whole_cores": inventory.scheduler.allocate == "core"
        or any(shape.cores_kept or shape.cpus_kept_per_gpu for shape in inventory.hardware.values()),
        "reboot_only_idle": inventory.policies.reboot_only_idle,
        "health": bool(inventory.slurm.health and inventory.slurm.health.enabled),
        "budgets": any(account.budget is not None for account in inventory.accounts),
        "memory": any(size is not None for size in (memory.per_gpu, memory.per_cpu, memory.per_node)),
        "memory_per_gpu": memory.per_gpu is not None,
        "prolog_files": any(path.startswith(f"{SLURM}/prolog-") for path in site.attached),
        "epilog_files": any(path.startswith(f"{SLURM}/epilog-") for path in site.attached),
        "requeue": "requeue" in _actions(inventory),
    }
    return {"", *(name for name, is_so in conditions.items() if is_so)}


def _actions(inventory: Inventory) -> set[str]:
    partitions, qos = inventory.partitions, inventory.qos.values()
    own = [partition.preempt_action for partition in partitions if partition.preemptable] + [
        guest.preempt_action for guest in qos if guest.preemptable
    ]
    return {action or inventory.preemption.action for action in own}


def _taken(table: str, name: str, value: str, holds: set[str], sites: Collection[str]) -> Own | None:
    """Return why gpupool keeps a key, or an option of its value, to itself; None if it is the site's."""
    entries = () if name.lower() in sites else own(table).get(name.lower(), ())
    return next((entry for entry in entries if _takes(entry, value, holds)), None)


def _takes(key: Own, value: str, holds: set[str]) -> bool:
    options = {option.partition("=")[0].strip().lower() for option in value.split(",")}
    return key.when in holds and (not key.option or key.option in options)


def _kept(here: Path, name: str, key: Own) -> Complaint:
    setting = f"{key.option} in {name}" if key.option else name
    if key.word:
        return Complaint(
            here, f"{setting} is set by {key.word}" + (f": {key.why}" if key.why else ""), f"use {key.word}"
        )
    return Complaint(here, f"{setting} cannot be set here: {key.why}", "remove it")


def _unknown(here: Path, table: str, name: str, key: Key | None, version: str) -> Complaint:
    if key is not None:
        knowing = [release for release in KNOWN if key.known_in(release)]
        span = f"until {knowing[-1]}" if number(knowing[-1]) < number(version) else f"from {knowing[0]} on"
        return Complaint(here, f"Slurm {version} does not know {key.name}: it exists {span}", "remove it")
    near = misspelt(name, [key.name for key in keys(table).values() if key.known_in(version)])
    hint = f"did you mean {near[0]}?" if near else None
    return Complaint(here, f"Slurm {version} knows no such key of {_FILES[table]}", hint)


def _of_value(here: Path, table: str, key: Key, value: str, site: Site) -> Iterator[Complaint]:
    if table in ("qos", "association"):
        yield from _of_limit(here, key, value, site)
        return
    bounds = _BOUNDS.fullmatch(key.value)
    kind = "number" if bounds else key.value
    if kind in _VALUES:
        pattern, message = _VALUES[kind]
        if not pattern.fullmatch(value):
            yield Complaint(here, f"{message}, not {value!r}")
        elif bounds and value.isdigit() and not int(bounds[1]) <= int(value) <= int(bounds[2] or value):
            yield Complaint(here, f"{message}{key.value.removeprefix('number')}, not {value!r}")


def _of_limit(here: Path, key: Key, value: str, site: Site) -> Iterator[Complaint]:
    try:
        read = parse(key.value, value)
    except ValueError as error:
        yield Complaint(here, str(error))
        return
    names = read if isinstance(read, list) else []
    if key.value == "Flags":
        version = site.inventory.slurm.version
        flags = {low: flag.name for low, flag in keys("qos_flag").items() if flag.known_in(version)}
        for name in names:
            if name.lower() not in flags:
                yield Complaint(here, f"{name!r} is not a flag of a QoS", f"use {', '.join(flags.values())}")
