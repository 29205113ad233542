"""Nodes and GPUs that are out of service, and the parts of labs' promises that this suspends."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import inf

from gpupool.cluster.gpu_devices import Device, devices_of
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import ANY, LabRights, owned, rights
from gpupool.cluster.resolve.ownership import CPUS
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.outages import Outage


@dataclass(frozen=True)
class Suspended:
    """The labs that together may lack `count` of the `owned` GPUs, CPUs or nodes (`noun`) that they own."""

    labs: tuple[str, ...]
    count: int
    owned: int
    noun: str

    def __str__(self) -> str:
        labs = f"the labs {listed(self.labs)} together" if len(self.labs) > 1 else f"the lab {self.labs[0]}"
        own = "they own" if len(self.labs) > 1 else "it owns"
        return f"{labs} may lack {self.count} of the {self.owned} {self.noun} that {own}"


def outages(site: Site, node: str) -> Iterator[tuple[Outage, tuple[Device, ...]]]:
    """Yield each outage of a node with its devices; without devices, the whole node is out of service."""
    entry = site.node_table.by_name[node].entry
    for outage in site.inventory.out_of_service:
        if node not in site.nodes_of(outage.nodes):
            continue
        known = {gpu for gpu in entry.gpus if gpu in site.inventory.gpu_types}
        devices = devices_of(site.inventory.gpu_types, entry) if known == entry.gpus.keys() else ()
        yield outage, tuple(device for device in devices if not {*outage.gpus}.isdisjoint(device.minors))


def suspended(site: Site) -> list[Suspended]:
    """Return the parts of labs' promises that the outages suspend; empty if rights cannot be computed."""
    lab_rights = LabRights.of(site)
    lost = _lost(site)
    if not lost or not lab_rights.computable:
        return []
    owners = site.ownership.owners
    suspended: list[Suspended] = []
    for owner in owners:
        missing = sum(lost[node][ANY] for node in owner.nodes & lost.keys())
        whole = sum(lost[node]["nodes"] for node in owner.nodes & lost.keys())
        if missing:
            suspended.append(Suspended((owner.name,), missing, lab_rights.amount(owner.nodes, ANY), "GPUs"))
        elif whole:
            suspended.append(Suspended((owner.name,), whole, len(owner.nodes), "nodes"))
    groups: dict[tuple[frozenset[str], str], list[str]] = {}
    needed: Counter[tuple[frozenset[str], str]] = Counter()
    for owner in owners:
        for resource in rights(owner):
            group = (lab_rights.pool_nodes(owner, resource), resource)
            groups.setdefault(group, []).append(owner.name)
            needed[group] += owned(owner, resource)
    for (where, resource), labs in groups.items():
        missing = sum(lost[node][resource] for node in where & lost.keys())
        have, held = lab_rights.amount(where, resource), lab_rights.most_held(where, resource)
        lack = min(missing, missing if held == inf else max(0, int(held) - have + missing), needed[where, resource])
        if lack:
            noun = {ANY: "GPUs", CPUS: "CPUs"}.get(resource, f"{resource} GPUs")
            suspended.append(Suspended(tuple(labs), lack, needed[where, resource], noun))
    return suspended


def _lost(site: Site) -> dict[str, Counter[str]]:
    """Return the resources that each node lacks: GPUs of any type and of each, CPUs, and 1 for a whole node."""
    lost: dict[str, Counter[str]] = {}
    for expanded in site.node_table.nodes if site.inventory.out_of_service else ():
        entry, node_outages = expanded.entry, list(outages(site, expanded.name))
        if not node_outages:
            continue
        if any(not outage.gpus for outage, _ in node_outages):
            shape = site.inventory.hardware.get(entry.hardware or "")
            gpus = Counter(entry.gpus)
            more = Counter({CPUS: shape.job_cpus if shape else 0, "nodes": 1})
        else:
            gpus = Counter(device.gpu for device in {device for _, devices in node_outages for device in devices})
            more = Counter()
        lost[expanded.name] = gpus + more + Counter({ANY: gpus.total()})
    return lost


def described(outage: Outage) -> str:
    """Return an outage as text: `gpu-1, GPU 3: fan, until 2030-01-31`."""
    gpus = f", GPU{'s' * (len(outage.gpus) > 1)} {', '.join(map(str, outage.gpus))}" if outage.gpus else ""
    return f"{outage.nodes}{gpus}: {outage.reason}{f', until {outage.until}' if outage.until else ''}"


def is_over(outage: Outage, today: date) -> bool:
    """Return whether the expected last day of an outage has passed."""
    return outage.until is not None and outage.until < today
