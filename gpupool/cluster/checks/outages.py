"""Check what is out of service: it exists, Slurm can run without it, and labs know what they may lack."""

from collections.abc import Iterator
from datetime import date

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.outages import described, is_over, outages, suspended
from gpupool.cluster.resolve.site import Site
from gpupool.slurm.releases import has

_NUMBERS = "write N of /dev/nvidiaN, which `nvidia-smi -q` calls the minor number"
_WHOLE = "remove `gpus`: the whole node is then out of service"


def ensure_outages_exist(site: Site) -> Iterator[Complaint]:
    """Only compute nodes, and GPUs that they have, are out of service."""
    version = site.inventory.slurm.version
    for index, outage in enumerate(site.inventory.out_of_service):
        path: Path = ("out_of_service", index)
        for name in sorted(site.nodes_of(outage.nodes)):
            if "compute" not in site.node_table.by_name[name].entry.roles:
                yield Complaint((*path, "nodes"), f"{name} is not a compute node", "remove it")
                continue
            devices = next((devices for each, devices in outages(site, name) if each is outage), ())
            known = {number for device in devices for number in device.minors}
            if missing := [str(number) for number in outage.gpus if number not in known]:
                yield Complaint((*path, "gpus"), f"{name} has no GPU {listed(missing)}", _NUMBERS)
            elif outage.gpus and not has(version, "Flags=explicit"):
                message = f"Slurm {version} would give it to jobs with whole nodes"
                yield Complaint((*path, "gpus"), message, _WHOLE)
            elif any(device.is_guess for device in devices):
                message = f"slurmd itself finds the MIG slices of {name}, and would find all of them"
                yield Complaint((*path, "gpus"), message, _WHOLE)


def ensure_a_gpu_is_left(site: Site) -> Iterator[Complaint]:
    """A node whose GPUs are all out of service is out of service as a whole."""
    for name, expanded in site.node_table.by_name.items() if site.inventory.out_of_service else ():
        node_outages = [(outage, devices) for outage, devices in outages(site, name) if devices]
        lost = {device for _, devices in node_outages for device in devices}
        if node_outages and len(lost) == sum(expanded.entry.gpus.values()):
            index = site.inventory.out_of_service.index(node_outages[-1][0])
            yield Complaint(("out_of_service", index, "gpus"), f"{name} has no other GPU", _WHOLE)


def ensure_outages_are_not_forgotten(site: Site) -> Iterator[Complaint]:
    """Warn of an outage whose expected last day has passed."""
    for index, outage in enumerate(site.inventory.out_of_service):
        if is_over(outage, date.today()):
            message = f"{described(outage)}: this day has passed"
            hint = "remove the entry, or set a later day"
            yield Complaint(("out_of_service", index, "until"), message, hint, "warning")


def ensure_labs_know_what_outages_take(site: Site) -> Iterator[Complaint]:
    """Warn of the labs that may lack a part of what they own."""
    for part in suspended(site):
        message = f"while this is out of service, {part}"
        yield Complaint(("out_of_service",), message, "tell the labs", "warning")
