"""Compare gpupool's facts about Slurm's releases with SchedMD's sources of each release, and print the differences.

`script/slurm_keys.py FOLDER` reads a clone of SchedMD/slurm at the newest tag of each release, and copies no code: the
keys of slurm.conf, of its node and partition lines, of cgroup.conf, slurmdbd.conf and gres.conf, the settings of
sacctmgr, the flags of a QoS, the first release with each ability, the oldest release whose state a release reads, and
the fields of JSON. The exit code is 1 if a fact differs and `REASONS` has no reason for it, or if a reason there is
needless.
"""

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from slurm_source import Source

from gpupool.slurm.keys.tables import keys
from gpupool.slurm.releases import KNOWN, RELEASES, SINCE, Ability, has, number
from gpupool.slurm.upgrades import READS_FROM

ROOT = Path(__file__).parents[1]
_CONFIG = ("src/common/read_config.c",)
_GRES = ("src/interfaces/gres.c", "src/common/gres.c")
_CGROUP = ("src/interfaces/cgroup.c", "src/common/cgroup.c")
#: Files of a table's keys, newest first, and the head of the list in them; the list ends with {NULL}.
LISTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "slurm_conf": (_CONFIG, r"s_p_options_t slurm_conf_options\[\] = \{"),
    "node": (_CONFIG, r"s_p_options_t _nodename_options\[\] = \{"),
    "partition": (_CONFIG, r"s_p_options_t _partition_options\[\] = \{"),
    "cgroup": (_CGROUP, r"s_p_options_t options\[\] = \{"),
    "slurmdbd": (("src/slurmdbd/read_config.c",), r"s_p_options_t options\[\] = \{"),
}
#: Keys of a line of gres.conf in every release; gpupool writes only these.
GRES = frozenset(
    ["AutoDetect", "Cores", "Count", "CPUs", "File", "Files", "Flags", "Link", "Links", "MultipleFiles", "Name", "Type"]
)
#: Names that sacctmgr compares with, and the function in which it does.
WORDS: Mapping[str, tuple[str, str]] = {
    "qos": ("src/sacctmgr/qos_functions.c", r"int (?:sacctmgr_set_qos_rec|_set_rec)\("),
    "association": ("src/sacctmgr/association_functions.c", r"int sacctmgr_set_assoc_rec\("),
}
#: A text in the source, by ability: the first release that has it in one of the paths has the ability; without a text,
#: the path itself. An ability that is a key of a table is compared there; `None` has no mark in the source.
MARKS: Mapping[Ability, tuple[str, tuple[str, ...]] | None] = {
    "rl_enable": ("rl_enable", ("src/slurmctld",)),
    "PreemptParameters": ('"PreemptParameters"', _CONFIG),
    "hierarchical AllowAccounts": ("This list is also hierarchical", ("doc/man/man5/slurm.conf.5",)),
    "Shared of job_container.conf": ('"Shared"', ("src/plugins/job_container/tmpfs", "src/plugins/namespace/tmpfs")),
    "cgroup/v2 by name": None,
    "sshare --json": ('"json"', ("src/sshare/sshare.c",)),
    "sackd": ("", ("src/sackd",)),
    "reservations of gres": ("RESERVE_FLAG_GRES_REQ", ("slurm/slurm.h",)),
    "a process for each reconfigure": ("try_to_reconfig", ("src/slurmctld/controller.c",)),
    "Flags=explicit": ('"explicit"', _GRES),
    "RestrictedCoresPerGPU": ('"RestrictedCoresPerGPU"', _CONFIG),
    "SystemdTimeout": ('"SystemdTimeout"', _CGROUP),
    "CgroupPlugin=disabled": ('"disabled"', _CGROUP),
    "AutoDetect=nvidia": ("", ("src/plugins/gpu/nvidia",)),
    "conmgr_max_connections": ("conmgr_max_connections", ("doc/man/man5/slurm.conf.5",)),
    "ClusterID in the state": ("don't know my ClusterID", ("src/slurmctld/controller.c",)),
    "NamespaceType": ('"NamespaceType"', _CONFIG),
}
#: Modules that read fields of `squeue --json`.
READERS = ("gpupool/slurm/jobs.py", "gpupool/programs/arbiter/jobs.py")
#: Fields of `sshare --json` that the program budget reads.
SHARES = frozenset(("tres/run_seconds", "tres/group_minutes", "tres/usage", "parent", "partition", "name", "type"))
#: Differences that are intended, with the reason.
REASONS: Mapping[str, str] = {
    "slurm_conf: KeepAliveTime is in 23.02 to 26.05, too": "they only log that it belongs to CommunicationParameters",
    "partition: SuspendTime is a number in 21.08": "no inventory may name 21.08",
    "qos: MaxSubmitPA is in no release, not 21.08 to 26.05": "a column of sacctmgr; gpupool sets MaxSubmitJobsPA",
    "qos: MaxSubmitPU is in no release, not 21.08 to 26.05": "a column of sacctmgr; gpupool sets MaxSubmitJobsPU",
    "cgroup: TaskAffinity of 21.08 is not in the table": "no inventory may name 21.08",
}
_OPTION = re.compile(r'\{\s*"(\w+)"\s*,\s*S_P_([A-Z0-9_]+)([^}]*)\}')
_KINDS = {"BOOLEAN": "yes or no", "FLOAT": "ratio", "UINT16": "number", "UINT32": "number", "UINT64": "number"}
_WORD = re.compile(r'xstrn?casecmp\(\s*(?:argv\[i\]|type),\s*"(\w+)"')
_READ = re.compile(r'\.(?:text|number|flag|fields)[(\[]"(\w+)"')
_FLAG = re.compile(r'xstrcasestr\(flags, "(\w+)"|T\(QOS_FLAG_\w+, "(\w+)"')


class SourceKey(NamedTuple):
    """A key in Slurm's spelling, and the kind of its value by release."""

    name: str
    kinds: dict[str, str]


def options(text: str, head: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a list in Slurm's source with the kind of value, without defunct keys."""
    if match := re.search(head, text):
        for name, kind, rest in _OPTION.findall(text[match.end() : text.index("{NULL}", match.end())]):
            if "_defunct" not in rest:
                yield name, _KINDS.get(kind, "text")


def source_keys(source: Source, table: str) -> dict[str, SourceKey]:
    """Return the keys of a table in all releases, by name in lower case."""
    every: dict[str, SourceKey] = {}
    paths, head = LISTS[table]
    for release in source.releases():
        for name, kind in options(source.text(release, *paths), head):
            every.setdefault(name.lower(), SourceKey(name, {})).kinds[release] = kind
    return every


def differences_of_keys(source: Source, table: str) -> Iterator[str]:
    """Yield the differences between a table of keys and the sources."""
    known, every = keys(table), source_keys(source, table)
    for low, (name, kinds) in every.items():
        if low not in known:
            yield f"{table}: {name} of {_span(list(kinds))} is not in the table"
            continue
        expected = [release for release in source.releases() if known[low].known_in(release)]
        if more := [release for release in kinds if release not in expected]:
            yield f"{table}: {name} is in {_span(more)}, too"
        if less := [release for release in expected if release not in kinds]:
            yield f"{table}: {name} is not in {_span(less)}"
        for kind in sorted(set(kinds.values())):
            if not known[low].value.startswith(kind):
                yield f"{table}: {name} is a {kind} in {_span([it for it in kinds if kinds[it] == kind])}"
    yield from (f"{table}: {key.name} is in no release" for low, key in known.items() if low not in every)


def differences_of_words(source: Source, table: str, names: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the keys of a table that other releases have: a key may be the beginning of one of their `names`."""
    for low, key in keys(table).items():
        having = [release for release in source.releases() if any(word.startswith(low) for word in names[release])]
        expected = [release for release in source.releases() if key.known_in(release)]
        if having != expected:
            yield f"{table}: {key.name} is in {_span(having) if having else 'no release'}, not {_span(expected)}"


def words(source: Source, table: str) -> dict[str, set[str]]:
    """Return the names that sacctmgr of each release compares with, in lower case."""
    path, head = WORDS[table]
    every = {}
    for release in source.releases():
        text = source.text(release, path)
        starts = [match.start() for match in re.finditer(rf"(?m)^(?:extern|static) {head}", text)]
        every[release] = {
            word.lower() for start in starts for word in _WORD.findall(text[start : text.index("\n}", start)])
        }
    return every


def flags(source: Source) -> dict[str, set[str]]:
    """Return the flags of a QoS that each release reads, in lower case."""
    return {
        release: {
            (first or second).lower()
            for first, second in _FLAG.findall(source.text(release, "src/common/slurmdb_defs.c"))
        }
        for release in source.releases()
    }


def differences_of_gres(source: Source) -> Iterator[str]:
    """Yield the releases whose gres.conf has other keys."""
    for release in source.releases():
        have = {name for name, _ in options(source.text(release, *_GRES), r"s_p_options_t _gres_options\[\] = \{")}
        if have != GRES:
            yield f"gres: {release} differs in {', '.join(sorted(have ^ GRES))}"


def differences_of_abilities(source: Source) -> Iterator[str]:
    """Yield the abilities that begin with another release than in `SINCE`."""
    for ability, mark in MARKS.items():
        if mark:
            having = [release for release in source.releases() if source.has(release, mark[0], *mark[1])]
            first = having[0] if having else "no release"
            if first != SINCE[ability]:
                yield f"ability: {ability} begins with {first}, not {SINCE[ability]}"


def differences_of_upgrades(source: Source) -> Iterator[str]:
    """Yield the releases whose oldest protocol is that of another release than in `READS_FROM`."""
    for release in KNOWN:
        if release in source.tags():
            text = source.text(release, "src/common/slurm_protocol_common.h")
            oldest = oldest_protocol(text, release)
            if oldest != READS_FROM[release]:
                yield f"upgrade: {release} reads from {oldest} on, not {READS_FROM[release]}"


def oldest_protocol(text: str, release: str) -> str:
    """Return the release of SLURM_MIN_PROTOCOL_VERSION; "" if the text has another form of it."""
    if match := re.search(r"define SLURM_MIN_PROTOCOL_VERSION SLURM_(\d+)_(\d+)_PROTOCOL_VERSION", text):
        return f"{match[1]}.{match[2]}"
    if match := re.search(r"define SLURM_MIN_PROTOCOL_VERSION DEC_SLURM_VER\(SLURM_PROTOCOL_VERSION, (\d+)\)", text):
        return RELEASES[RELEASES.index(release) - int(match[1])]
    return ""


def differences_of_json(source: Source) -> Iterator[str]:
    """Yield the fields of JSON that gpupool reads and that a release, which gpupool knows, does not write.

    A release writes JSON in the form of its newest data_parser; 22.05, which has none, by src/plugins/openapi.
    """
    read = {field for path in READERS for field in _READ.findall((ROOT / path).read_text(encoding="utf-8"))}
    for release in source.releases():
        if release in KNOWN:
            text = source.text(release, *source.writers(release))
            needed = read | (SHARES if has(release, "sshare --json") else set())
            for field in sorted(field for field in needed if f'"{field}"' not in text):
                yield f"json: {release} does not write {field}"


def differences(source: Source) -> Iterator[str]:
    """Yield all differences between gpupool's facts and the sources."""
    for table in LISTS:
        yield from differences_of_keys(source, table)
    for table in WORDS:
        yield from differences_of_words(source, table, words(source, table))
    yield from differences_of_words(source, "qos_flag", flags(source))
    yield from differences_of_gres(source)
    yield from differences_of_abilities(source)
    yield from differences_of_upgrades(source)
    yield from differences_of_json(source)


def _span(releases: list[str]) -> str:
    first, last = min(releases, key=number), max(releases, key=number)
    return first if first == last else f"{first} to {last}"


def main() -> int:
    """Print the sources and the differences; return 1 if there are some without a reason, or a needless reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a clone of SchedMD/slurm with all tags")
    source = Source(parser.parse_args().folder)
    if lacking := [release for release in KNOWN if release not in source.tags()]:
        parser.error(f"{source.folder} has no tag of Slurm {', '.join(lacking)}")
    print("compared with", ", ".join(source.tags()[release] for release in source.releases()))
    for release in set(source.tags()) - set(RELEASES):
        if number(release) > number(RELEASES[-1]):
            print(f"Slurm {release} is newer than all known releases")
    every = list(differences(source))
    for difference in every:
        print(f"{difference}{f' (intended: {REASONS[difference]})' if difference in REASONS else ''}")
    needless = [reason for reason in REASONS if reason not in every]
    for reason in needless:
        print(f"the reason is no longer needed: {reason}")
    return 1 if needless or set(every) - set(REASONS) else 0


if __name__ == "__main__":
    raise SystemExit(main())
