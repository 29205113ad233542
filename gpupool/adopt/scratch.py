"""The files with which a scratch slurmctld judges: the cluster's, and the inventory's.

Both are changed in the same few settings, which need hosts and daemons that a scratch slurmctld does not have.
"""

from collections.abc import Iterable, Mapping

from gpupool.adopt.folder import Folder
from gpupool.adopt.includes import Reader
from gpupool.adopt.lines import Line, lines
from gpupool.adopt.nodes import Names
from gpupool.adopt.partitions import nodes_of
from gpupool.adopt.slurm_conf import KINDS, SlurmConf
from gpupool.adopt.values import key_set
from gpupool.cluster.complaints import Place
from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.slurm.hostlists import expanded

#: Settings that a scratch slurmctld does not read; gpupool's parser compares them. Each needs another host, slurmdbd,
#: a key, or a folder of Slurm's plugins. Without accounts, slurmctld 24.11 crashes in half of its starts with
#: NO_FAIR_TREE of PriorityFlags.
UNREAD = key_set(
    """slurmctldhost controlmachine controladdr backupcontroller backupaddr slurmctldaddr authalttypes authaltparameters
    accountingstoragetype accountingstoragetres accountingstoragehost accountingstoragebackuphost
    accountingstorageexternalhost accountingstorageport accountingstorageuser accountingstorageloc
    accountingstoragepass accountingstorageenforce jobcomptype jobcomphost jobcomploc jobcompparams jobcomppass
    jobcompport jobcompuser plugindir priorityflags include"""
)
_ENDS = ".conf", ".lua", ".yaml"
_NOT = frozenset(("slurmdbd.conf", "slurm.conf"))


def of_site(
    folder: Folder, conf: SlurmConf, names: Names, host: str, address: str, removed: Mapping[str, str]
) -> dict[str, str]:
    """Return the cluster's own files by name.

    `removed` has the settings, in lower case, that the release refuses, and the options of them that remain.

    Included files are at the place of their Include. A partition of no nodes is left out: slurmctld refuses it.
    """
    quiet = Folder(folder.top)
    empty = {entry.place for entry in conf.of("PartitionName") if not nodes_of(conf, entry, names)}
    cluster = (conf.value("clustername") or "").lower()
    texts = {
        name: "".join(_written(line, removed if name == "cgroup.conf" else {}) for line in Reader(quiet).lines(name))
        for name in quiet.names()
        if name.endswith(_ENDS[0]) and name not in _NOT
    }
    texts |= {name: quiet.read(name) or "" for name in quiet.names() if name.endswith(_ENDS[1:])}
    own = Reader(quiet).lines("slurm.conf", cluster)
    return {**texts, "slurm.conf": _slurm_conf(own, host, address, removed, empty)}


def of_inventory(cluster: Cluster, host: str, address: str) -> dict[str, str]:
    """Return the files of an inventory's first controller by name."""
    files = {file.path: file.text for file in files_of(cluster, cluster.controllers[0], "slurm")}
    named = {path.rpartition("/")[2]: text for path, text in files.items() if path.startswith(cluster.slurm.file(""))}
    return {
        **{name: text for name, text in named.items() if name not in _NOT},
        "slurm.conf": _slurm_conf(lines("slurm.conf", named["slurm.conf"]), host, address, {}, set()),
    }


def hosts(conf: SlurmConf) -> set[str]:
    """Return the host names of a slurm.conf's nodes: names and addresses that are no numbers."""
    found = {
        name
        for entry in conf.of("NodeName")
        for text in (entry.name, entry.value("nodeaddr"), entry.value("nodehostname"))
        for name in expanded(text or "")
    }
    return {name for name in found if name.lower() != "default" and name[:1].isalnum()}


def _slurm_conf(of: Iterable[Line], host: str, address: str, removed: Mapping[str, str], empty: set[Place]) -> str:
    gone = {**dict.fromkeys(UNREAD, ""), **removed}
    own = f"SlurmctldHost={host}({address})\nAccountingStorageType=accounting_storage/none\n"
    return own + "".join(_written(line, gone, empty) for line in of)


def _written(line: Line, gone: Mapping[str, str], empty: Iterable[Place] = ()) -> str:
    """Return a line of a file, in which a setting in `gone` has only its options there, and is left out if they are "".

    A line of nodes or partitions stays whole.
    """
    facts, rest = line.pairs()
    if facts and facts[0].key.lower() in KINDS:
        return "" if line.place in empty and facts[0].key.lower() == "partitionname" else _escaped(line.text)
    if rest or not any(fact.key.lower() in gone for fact in facts):
        return _escaped(line.text)
    kept = ((fact.key, gone.get(fact.key.lower(), fact.value)) for fact in facts)
    return "".join(_escaped(f'{key}="{value}"') for key, value in kept if value)


def _escaped(text: str) -> str:
    return text.strip().replace("\\", "\\\\").replace("#", "\\#") + "\n"
