"""Nodes of slurm.conf as nodes, hardware and GPU types of an inventory; and the controllers and the database."""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gpupool.addresses import is_dns_name, is_ipv4
from gpupool.adopt.draft import Draft
from gpupool.adopt.folder import Folder
from gpupool.adopt.hardware import Machine, machine
from gpupool.adopt.lines import Fact
from gpupool.adopt.slurm_conf import Entry, SlurmConf
from gpupool.cluster.complaints import Path
from gpupool.slurm.hostlists import MOST, expand, expanded, fold, fold_each, fold_set, one_each

_HOST = re.compile(r"([^()]+)(?:\(([^()]*)\))?")
# in a name of a node that gpupool does not manage
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = frozenset(("all", "default"))
Roles = dict[str, list[str]]


@dataclass
class Names:
    """The names of compute nodes in Slurm, in order, with their names in the inventory; and features by node."""

    new: dict[str, str] = field(default_factory=dict)
    features: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, name: str) -> str:
        """Return the name that a node of Slurm has in the inventory, where names are host names."""
        if name not in self.new:
            safe = _STRANGE.sub("-", name).strip("-.") or "node"
            safe = f"node-{safe}" if safe.lower() in _RESERVED else safe
            taken = {*self.new.values()} if safe != name else set()
            self.new[name] = next(word for word in _numbered(safe) if word not in taken)
        return self.new[name]


@dataclass
class _Run:
    """Lines of nodes that follow each other and are alike: they are one entry of an inventory."""

    entries: list[Entry]
    machine: Machine
    members: list[str]
    addresses: dict[str, str]
    hostnames: dict[str, str]


def add_nodes(draft: Draft, folder: Folder, conf: SlurmConf, *, cores: bool) -> Names:
    """Add all nodes to a draft, and return their names. All are `managed: false`: gpupool logs in to none."""
    names = Names()
    roles, addresses = _servers(draft, conf)
    kinds: dict[str, dict[str, Any]] = {}
    for run in _runs(draft, folder, conf, names, cores=cores):
        hardware = _hardware(draft, kinds, run.machine, run.members[0])
        _add_line(draft, run, hardware, names, roles)
    for server in dict.fromkeys(roles):
        if server not in names.new:
            path = draft.append("nodes")
            draft.data["nodes"][path[1]] |= {"name": names.add(server), "roles": roles[server], "managed": False}
            if server in addresses:
                draft.data["nodes"][path[1]]["address"] = addresses[server]
            del names.new[server]
    for gpu in dict.fromkeys(gpu for node in draft.data.get("nodes", []) for gpu in node.get("gpus", {})):
        draft.data.setdefault("gpu_types", {})[gpu] = {"models": [gpu], "inferred": ["models"]}
    return names


def network(draft: Draft) -> str:
    """Return the smallest network of all addresses; without any address the private network 10.0.0.0/8."""
    known = [address for node in draft.data["nodes"] for address in expanded(node.get("address", ""))]
    numbers = [int(ipaddress.IPv4Address(address)) for address in known if is_ipv4(address)]
    if not numbers:
        return "10.0.0.0/8"
    bits = (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.IPv4Network((min(numbers) >> bits << bits, 32 - bits)))


def _runs(draft: Draft, folder: Folder, conf: SlurmConf, names: Names, *, cores: bool) -> list[_Run]:
    runs: list[_Run] = []
    for entry in conf.of("NodeName"):
        if not (members := _members(folder, entry, names)):
            draft.drop("no further nodes", entry.head, *entry.facts.values())
            continue
        made = machine(entry, cores=cores, plain_gres=draft.leaves("node", "gres"))
        addresses = _of_each(draft, entry, "nodeaddr", members)
        hostnames = _of_each(draft, entry, "nodehostname", members)
        last = runs[-1] if runs else None
        given = bool(addresses), bool(hostnames)
        if last and last.machine.alike == made.alike and (bool(last.addresses), bool(last.hostnames)) == given:
            last.machine.join(made)
            last.entries.append(entry)
            last.members += members
            last.addresses |= addresses
            last.hostnames |= hostnames
        else:
            runs.append(_Run([entry], made, members, addresses, hostnames))
    return runs


def _members(folder: Folder, entry: Entry, names: Names) -> list[str]:
    try:
        members = expand(entry.name)
    except ValueError as error:
        folder.complain(entry.place, str(error))
        return []
    if len(names.new) + len(members) > MOST:
        folder.complain(entry.place, f"more than {MOST} nodes in all; these are left out")
        return []
    twice = [name for name in members if name in names.new]
    if twice:
        folder.complain(entry.place, f"{fold_set(twice)} has a line before: slurmctld does not start")
    new = [name for name in dict.fromkeys(members) if name not in names.new]
    own = frozenset(part for key in ("feature", "features") for part in (entry.value(key) or "").split(","))
    for name in new:
        names.add(name)
        names.features[name] = own
    return new


def _hardware(draft: Draft, kinds: dict[str, dict[str, Any]], made: Machine, first: str) -> str:
    """Return the name of the hardware of a line: that of an earlier line with the same, or a new one."""
    whole = {**made.hardware, **({"parameters": {f.key: f.value for f in made.kept}} if made.kept else {})}
    stem = re.match(r"[A-Za-z]*", _STRANGE.sub("", first))
    name = next((name for name, known in kinds.items() if known == whole), "")
    name = name or next(word for word in _numbered((stem and stem[0].lower()) or "node") if word not in kinds)
    kinds[name] = whole
    path: Path = ("hardware", name)
    for key, value in made.hardware.items():
        draft.say((*path, key), value, *made.sources.get(key, ()))
    for fact in made.kept:
        draft.keep((*path, "parameters"), fact)
    for why, fact in made.lost:
        draft.drop(why, fact)
    return name


def _add_line(draft: Draft, run: _Run, hardware: str, names: Names, roles: Roles) -> None:
    """Add the nodes of lines that are alike: one entry, or several if some of them have further roles."""
    made = run.machine
    for group in _alike(run.members, roles):
        path = draft.append("nodes")
        draft.say((*path, "name"), fold(names.new[name] for name in group), *(entry.head for entry in run.entries))
        draft.say((*path, "roles"), ["compute", *roles.get(group[0], [])], *made.sources.get("roles", ()))
        draft.say((*path, "hardware"), hardware)
        for key, value in made.node.items():
            draft.say((*path, key), value, *made.sources.get(key, ()))
        for word, key, of in (("address", "nodeaddr", run.addresses), ("hostname", "nodehostname", run.hostnames)):
            if of:
                facts = (entry.facts.get(key) for entry in run.entries)
                draft.say((*path, word), fold_each([of[name] for name in group]), *facts)
        draft.say((*path, "managed"), False)


def _of_each(draft: Draft, entry: Entry, key: str, members: list[str]) -> dict[str, str]:
    """Return NodeAddr or NodeHostname of each node of a line; none if the line has none, or the nodes' own names."""
    fact = entry.facts.get(key)
    if fact is None:
        return {}
    names = expanded(entry.name)
    values = one_each(expanded(fact.value), len(names))
    if values == names:
        draft.say(("nodes",), draft.data.get("nodes", []), fact)  # the name itself, which is Slurm's default
        return {}
    if len(values) != len(names) or not all(is_dns_name(value) or is_ipv4(value) for value in values):
        draft.drop("neither a host name nor an IPv4 address, one for each node or one for all", fact)
        return {}
    by_name = dict(zip(names, values, strict=True))
    return {name: by_name[name] for name in members}


def _servers(draft: Draft, conf: SlurmConf) -> tuple[Roles, dict[str, str]]:
    """Return the roles of the hosts of daemons, the first controller first; and the known addresses."""
    hosts: list[tuple[str, str, list[Fact]]] = []
    for fact in conf.settings.get("slurmctldhost", ()):
        match = _HOST.fullmatch(fact.value)
        hosts.append((match[1], match[2] or "", [fact]) if match else (fact.value, "", [fact]))
    for name, address in (("controlmachine", "controladdr"), ("backupcontroller", "backupaddr")):
        if not hosts or name == "backupcontroller":
            facts = [fact for key in (name, address) for fact in conf.settings.get(key, ())]
            if host := conf.value(name):
                hosts.append((host, conf.value(address) or "", facts))
    roles: Roles = {}
    addresses: dict[str, str] = {}
    has_own_state = "place" in draft.data["slurm"].get("left", ())  # on a mount of the site
    for place, (host, address, facts) in enumerate(hosts):
        if host in roles or (place and not has_own_state):
            draft.drop("a backup controller needs the same slurm.state as the controller", *facts)
            continue
        roles[host] = ["backup-controller" if place else "controller"]
        if is_ipv4(address) or (is_dns_name(address) and address != host):
            addresses[host] = address
        draft.say(("nodes",), draft.data.setdefault("nodes", []), *facts)
    first = next(iter(roles), "controller")
    roles.setdefault(first, ["controller"])
    database = conf.value("accountingstoragehost") or first
    if is_ipv4(database):
        address, database = database, "database"
        database = next((host for host, known in addresses.items() if known == address), database)
        addresses.setdefault(database, address)
    database = first if database == "localhost" else database
    roles.setdefault(database, []).append("database")
    draft.say(("nodes",), draft.data.setdefault("nodes", []), *conf.settings.get("accountingstoragehost", ()))
    return roles, addresses


def _alike(members: list[str], roles: Roles) -> Iterator[list[str]]:
    """Yield the members in groups: all without further roles, then each with some."""
    if plain := [name for name in members if name not in roles]:
        yield plain
    yield from ([name] for name in members if name in roles)


def _numbered(word: str) -> Iterator[str]:
    yield word
    yield from (f"{word}-{number}" for number in range(2, MOST))


def selector(names: Names, chosen: Iterable[str]) -> str:
    """Return the selector of nodes by their names in Slurm: @compute for all of them."""
    wanted = {*chosen}
    return "@compute" if wanted == {*names.new} else fold_set(names.new[name] for name in names.new if name in wanted)
