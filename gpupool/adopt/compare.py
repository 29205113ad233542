"""The proof: Slurm's files of an inventory, as gpupool renders them, compared with the cluster's, value by value."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpupool.adopt.causes import cause, group, spelt
from gpupool.adopt.devices import meaning_of_gres
from gpupool.adopt.draft import Draft
from gpupool.adopt.folder import Folder
from gpupool.adopt.lines import Fact
from gpupool.adopt.meaning import default, meaning, meaning_of_cgroup, places
from gpupool.adopt.nodes import Names
from gpupool.adopt.partitions import nodes_of
from gpupool.adopt.slurm_conf import SlurmConf, plain, read
from gpupool.cluster.complaints import Place
from gpupool.cluster.model import Cluster
from gpupool.cluster.quote import escaped
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf, gres_conf
from gpupool.slurm.hostlists import fold_set

# the sections whose parts are nodes
_OF_NODES = ("node", "gres")
#: The key that names an entry of a section.
HEADS = {"node": "nodename", "partition": "partitionname"}


@dataclass(frozen=True)
class Difference:
    """A key that would change: of which nodes or partitions ("" for a setting), from what to what, and why.

    `group` is that of `slurm.left` which leaves the key to the site; "" if there is none.
    """

    section: str
    key: str
    of: str
    was: str
    would: str
    cause: str
    group: str
    place: Place | None

    def __str__(self) -> str:
        """Return one line: `slurm.conf:7: Gres of node n[1-4]: gpu:4, would be gpu:gpu:4`."""
        of = f" of {self.section} {escaped(self.of, 80)}" if self.of else ""
        of = " of cgroup.conf" if self.section == "cgroup" else of
        of = f" in gres.conf of node {escaped(self.of, 80)}" if self.section == "gres" else of
        where = f"{self.place}: " if self.place else ""
        values = f"{_shown(self.was)}, would be {_shown(self.would)}"
        return f"{where}{spelt(self.section, self.key)}{of}: {values}"


def differences(
    conf: SlurmConf, cgroup: list[list[Fact]], gres: list[list[Fact]], names: Names, cluster: Cluster
) -> list[Difference]:
    """Return the differences of slurm.conf, cgroup.conf and gres.conf of a cluster from those of its inventory."""
    ours, our_cgroup, our_gres, our_names = _rendered(cluster)
    now, then = meaning_of_cgroup(cgroup), meaning_of_cgroup(our_cgroup)
    was = meaning(conf, lambda entry: [names.new.get(name, name) for name in nodes_of(conf, entry, names)])
    would = meaning(ours, lambda entry: nodes_of(ours, entry, our_names))
    was |= meaning_of_gres(conf, gres)
    would |= meaning_of_gres(ours, our_gres)
    renamed = {(section, key, names.new.get(of, of)): of for section, key, of in was if section in _OF_NODES}
    was = {
        (section, key, names.new.get(of, of) if section in _OF_NODES else of): was[section, key, of]
        for section, key, of in was
    }
    was |= {place: fact.value for place, fact in now.items()}
    would |= {place: fact.value for place, fact in then.items()}
    grouped: dict[tuple[str, str, str, str], list[str]] = {}
    for place in dict.fromkeys((*was, *would)):
        section, key, of = place
        head = HEADS.get(section, "")
        if key != head and head and not (was.get((section, head, of)) and would.get((section, head, of))):
            continue  # a node or a partition that only one has, or neither: no difference for each of its keys
        usual = default(section, key)
        values = was.get(place, usual), would.get(place, usual)
        if values[0].lower() != values[1].lower():
            grouped.setdefault((section, key, *values), []).append(renamed.get(place, of))
    lines = places(conf) | {place: fact.place for place, fact in now.items()}
    return [
        Difference(
            section,
            key,
            fold_set(filter(None, of)),
            before,
            after,
            cause(section, key, cluster.slurm.version, before),
            group(section, key, cluster.slurm.version, before),
            lines.get((section, key, of[0])) or lines.get((section, "", of[0])),
        )
        for (section, key, before, after), of in grouped.items()
    ]


def mark_same(draft: Draft, facts: Iterable[Fact], differing: Iterable[Difference]) -> None:
    """Mark the settings that are not taken and do not differ: gpupool writes the same, or has Slurm's default, too."""
    differ = {one.key for one in differing if not one.of}
    for fact in facts:
        if fact.key.lower() not in differ and draft.is_lost(fact):
            draft.same(fact)


def _shown(value: str) -> str:
    return escaped(value, 80) or "not set"


def _rendered(cluster: Cluster) -> tuple[SlurmConf, list[list[Fact]], list[list[Fact]], Names]:
    with tempfile.TemporaryDirectory(prefix="gpupool-adopt-") as place:
        for name, text in (("slurm", slurm_conf), ("cgroup", cgroup_conf), ("gres", gres_conf)):
            (Path(place) / f"{name}.conf").write_text(text(cluster), encoding="utf-8")
        folder = Folder(Path(place))
        conf, cgroup, gres = read(folder), list(plain(folder, "cgroup.conf")), list(plain(folder, "gres.conf"))
    names = Names()
    for node in cluster.having("compute"):
        names.add(node.slurm_name)
    return conf, cgroup, gres, names
