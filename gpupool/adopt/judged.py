"""The differences of a cluster's files from those of its inventory, as a scratch slurmctld understands both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupool.adopt.causes import cause, group, is_removed
from gpupool.adopt.compare import HEADS, Difference
from gpupool.adopt.folder import Folder
from gpupool.adopt.inventory import Adopted
from gpupool.adopt.meaning import meaning_of_cgroup, places
from gpupool.adopt.nodes import Names
from gpupool.adopt.scratch import UNREAD, hosts, of_inventory, of_site
from gpupool.adopt.slurm_conf import plain
from gpupool.adopt.values import is_no_default_time, key_set, readable
from gpupool.cluster.complaints import Place
from gpupool.errors import GpupoolError
from gpupool.rehearsal.judge import ADDRESS, HOST, Reading, judge
from gpupool.slurm.hostlists import expanded, fold_set
from gpupool.slurm.releases import Known
from gpupool.wording import counted

# of scontrol's keys: another key of slurm.conf; what changes with time, or follows from keys that are compared
_CONF = {"cputot": "cpus", "availablefeatures": "feature"}
_NOT = {
    "settings": key_set("boot_time hash_val next_job_id slurm_conf slurm_version multiple_slurmd"),
    "cgroup": key_set(""),
    "node": key_set(
        """lastbusytime boottime slurmdstarttime resumeaftertime cpuload freemem currentwatts avewatts reason allocmem
        alloctres cpualloc owner mcs_label cfgtres cpuefctv activefeatures partitions os version arch"""
    ),
    "partition": key_set("totalcpus totalnodes tres nodesets qos"),
}
# keys of slurm.conf that scontrol shows under another name, or only where a node has a value
_ALSO = {
    "settings": key_set("defmempercpu defmempernode maxmempercpu maxmempernode prolog epilog"),
    "cgroup": key_set(""),
    "node": key_set(
        """cpus procs feature features sockets socketsperboard boards corespersocket threadspercore corespeccount
        cpuspeclist memspeclimit port comment extra nodeaddr nodehostname nodename"""
    ),
    "partition": key_set("partitionname defmempercpu defmempernode maxmempercpu maxmempernode"),
}
Lines = Mapping[tuple[str, str, str], Place]
_ORDERED = key_set("jobsubmitplugins taskplugin prolog epilog")


@dataclass(frozen=True)
class Verdict:
    """The differences that remain after slurmctld has judged.

    `version`: its release, "" if it has not judged, for the reason `why`. `refused`: why it does not start with the
    inventory's files, although it does with the cluster's. `compared`: what it has compared, in words.
    """

    differences: Sequence[Difference]
    version: str = ""
    why: str = ""
    refused: str = ""
    compared: str = ""


def by_slurmctld(result: Adopted, folder: Folder, release: Known, tell: Callable[[str], None]) -> Verdict:
    """Return the verdict of a scratch slurmctld of a release on an adopted inventory that `check` accepts.

    Without Docker, or an image with this release, the parser's differences stay, and the verdict says why.
    """
    cluster, parsed = result.loaded.cluster, result.differences
    assert cluster
    assert parsed is not None
    cgroup = meaning_of_cgroup(plain(Folder(folder.top), "cgroup.conf")) if folder.has("cgroup.conf") else {}
    settings = {("settings", key, ""): facts[-1] for key, facts in result.conf.settings.items()}
    removed = {
        key: _readable(key, fact.value, release)
        for (section, key, _), fact in (settings | cgroup).items()
        if is_removed(section, key, release, fact.value)
    }
    now = of_site(folder, result.conf, result.names, HOST, ADDRESS, removed)
    new = of_inventory(cluster, HOST, ADDRESS)
    others = {node.slurm_name for node in cluster.having("compute")} | {node.address for node in cluster.nodes.values()}
    try:
        readings = judge(release, now, new, sorted({*hosts(result.conf), *filter(None, others)}), tell)
    except GpupoolError as error:
        return Verdict(parsed, why=str(error))
    lines = places(result.conf) | {place: fact.place for place, fact in cgroup.items()}
    return verdict(parsed, *readings, lines, result.names, release)


def verdict(
    parsed: Sequence[Difference], now: Reading, new: Reading, lines: Lines, names: Names, release: str
) -> Verdict:
    """Return slurmctld's verdict on the parser's differences, and the differences that it alone finds.

    Slurmctld has the last word on each key that it shows; the parser on gres.conf, on settings that a scratch
    slurmctld does not read, and on keys that the release does not have. `lines` are the places of all keys.
    """
    if now.refused:
        return Verdict(parsed, why=f"slurmctld does not start with the cluster's files: {now.refused}")
    if new.refused:
        return Verdict(parsed, refused=new.refused)
    sizes = (len(now.settings), "setting"), (len(now.nodes), "node"), (len(now.partitions), "partition")
    counts = ", ".join(counted(*size) for size in sizes)
    kept = [one for one in parsed if not _is_shown(one, now, new, release)]
    return Verdict([*kept, *_found(now, new, lines, names, release)], now.version, compared=counts)


def _is_removed(one: Difference, release: str) -> bool:
    return is_removed(one.section, one.key, release, one.was)


def _readable(key: str, value: str, release: str) -> str:
    """Return the options that remain of a setting which a release refuses; "" if it refuses the key."""
    rest = readable(key, value, release)
    return "" if rest == value else rest


def _is_shown(one: Difference, now: Reading, new: Reading, release: str) -> bool:
    """Return whether slurmctld has shown a key that the parser found to differ."""
    if one.section == "gres" or _is_removed(one, release) or (one.section == "settings" and one.key in UNREAD):
        return False
    if one.key in _NOT[one.section]:
        return False
    if one.key in _ALSO[one.section]:
        return True
    sections = {"settings": "settings", "cgroup": "cgroup", "node": "nodes", "partition": "partitions"}
    for reading in (now, new):
        shown = getattr(reading, sections[one.section])
        if one.key in shown or (one.of and any(one.key in shown.get(name, {}) for name in expanded(one.of))):
            return True
    return False


def _found(now: Reading, new: Reading, lines: Lines, names: Names, release: str) -> Iterator[Difference]:
    renamed = {names.new.get(name, name): name for name in now.nodes}
    grouped: dict[tuple[str, str, str, str], list[str]] = {}
    pairs = [
        ("settings", {"": now.settings}, {"": new.settings}),
        ("cgroup", {"": now.cgroup}, {"": new.cgroup}),
        ("node", {names.new.get(name, name): keys for name, keys in now.nodes.items()}, new.nodes),
        ("partition", now.partitions, new.partitions),
    ]
    for section, before, after in pairs:
        for name in dict.fromkeys((*before, *after)):
            for key, was, would in _keys(section, name, before.get(name), after.get(name), names):
                grouped.setdefault((section, key, was, would), []).append(renamed.get(name, name))
    for (section, key, was, would), of in grouped.items():
        place = lines.get((section, key, of[0])) or lines.get((section, "", of[0]))
        why = cause(section, key, release, was), group(section, key, release, was)
        yield Difference(section, key, fold_set(filter(None, of)), was, would, *why, place)


def _keys(
    section: str, name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None, names: Names
) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of a node, a partition or the settings that differ, with both values."""
    if before is None or after is None:
        head = HEADS[section]
        yield head, (before or {}).get(head, ""), (after or {}).get(head, "")
        return
    for shown in dict.fromkeys((*before, *after)):
        was, would = before.get(shown, ""), after.get(shown, "")
        if shown in _NOT[section] or (section == "settings" and shown in UNREAD):
            continue
        if section == "node" and shown in ("nodeaddr", "nodehostname"):
            was, would = ("" if value == of["nodename"] else value for value, of in ((was, before), (would, after)))
        if section == "partition" and shown == "nodes":
            was = fold_set(names.new.get(node, node) for node in expanded(was))
            would = fold_set(expanded(would))
        if section == "partition" and shown == "defaulttime":
            was, would = (
                "NONE" if is_no_default_time(value, of.get("maxtime", "")) else value
                for value, of in ((was, before), (would, after))
            )
        key = _CONF.get(shown, shown)
        if _form(key, was) != _form(key, would):
            yield key, was, would


def _form(key: str, value: str) -> str:
    """Return a value in a form in which lists without an order are alike, and the state of a node that is up."""
    if key == "state" and value.lower() == "idle":  # the state in slurm.conf is unknown until slurmd registers
        return "unknown"
    return value if key in _ORDERED or "[" in value else ",".join(sorted(value.lower().split(",")))
