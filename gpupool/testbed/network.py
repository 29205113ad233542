"""The network and the volumes of a testbed: created if missing, kept if right; TestbedError if in use or different."""

import ipaddress

from gpupool.errors import TestbedError
from gpupool.testbed import docker
from gpupool.testbed.spec import LABEL, Spec, Volume


def ensure(spec: Spec) -> None:
    """Create the testbed's network, unless it exists with the right addresses."""
    if exists(spec):
        return
    made = docker.attempt(create(spec))
    # docker may still create it for an up that was just killed
    if made.returncode and not exists(spec):
        wanted = ipaddress.ip_network(spec.network)
        free = _free(wanted, [wanted, *(subnet for group in _subnets().values() for subnet in group)])
        raise TestbedError(f"cannot create network {wanted}: {docker.reason(made)}; try --network {free}")


def exists(spec: Spec) -> bool:
    """Return whether the testbed's network exists; TestbedError if it differs, or overlaps another network."""
    taken = _subnets()
    ours = taken.pop(spec.id, None)
    wanted = ipaddress.ip_network(spec.network)
    if ours == [wanted]:
        return True
    if ours is not None:
        has = ", ".join(map(str, ours)) or "no addresses"
        raise TestbedError(f"network {spec.id} has {has}, the inventory has {wanted}: run testbed down, then up again")
    for name, subnets in taken.items():
        if any(subnet.overlaps(wanted) for subnet in subnets):
            free = _free(wanted, [subnet for group in taken.values() for subnet in group])
            raise TestbedError(f"{wanted} is in use by docker's network {name}: choose another one, --network {free}")
    return False


def create(spec: Spec) -> list[str]:
    """Return the docker arguments that create the network."""
    where = ["--subnet", spec.network, "--gateway", spec.gateway]
    return ["network", "create", "--driver", "bridge", *where, "--label", f"{LABEL}={spec.id}", spec.id]


def ensure_volumes(spec: Spec) -> None:
    """Create missing volumes; TestbedError for a volume that has changed, because it may hold data."""
    known = docker.inspect("volume", [spec.part(volume.key) for volume in spec.volumes])
    for volume in spec.volumes:
        existing = known.get(spec.part(volume.key))
        if existing is None:
            docker.run(create_volume(spec, volume))
        elif (existing.get("Options") or {}) != _options(volume):
            raise TestbedError(
                f"volume {spec.part(volume.key)} was created with another source or size: run testbed down first"
            )


def create_volume(spec: Spec, volume: Volume) -> list[str]:
    """Return the docker arguments that create a volume."""
    options = [word for name, value in _options(volume).items() for word in ("--opt", f"{name}={value}")]
    return ["volume", "create", "--label", f"{LABEL}={spec.id}", *options, spec.part(volume.key)]


def _options(volume: Volume) -> dict[str, str]:
    if volume.kind == "disk":
        return {}
    size = f"size={volume.size}," if volume.size else ""
    # docker mounts it once for all containers, so df prints this source and size in each of them.
    return {"type": "tmpfs", "device": volume.source or "tmpfs", "o": f"{size}mode=0755"}


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _subnets() -> dict[str, list[Network]]:
    names = docker.run(["network", "ls", "--format", "{{.Name}}"]).split()
    subnets = {}
    for name, entry in docker.inspect("network", names).items():
        configs = (entry.get("IPAM") or {}).get("Config") or []
        subnets[name] = [ipaddress.ip_network(config["Subnet"]) for config in configs if config.get("Subnet")]
    return subnets


def _free(like: Network, taken: list[Network]) -> Network:
    """Return a private network of the same size that overlaps none of `taken`."""
    for pool in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"):
        whole = ipaddress.ip_network(pool)
        if whole.prefixlen > like.prefixlen:
            continue
        for candidate in whole.subnets(new_prefix=like.prefixlen):
            past = int(candidate.network_address) > int(like.network_address) or not like.subnet_of(whole)  # type: ignore[arg-type]
            if past and not any(candidate.overlaps(other) for other in taken):
                return candidate
    return like
