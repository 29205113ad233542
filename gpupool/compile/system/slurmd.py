"""slurmd: its settings, its drop-in, and a rule that clears its directories at boot."""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import gres_conf
from gpupool.compile.slurm.names import servers
from gpupool.compile.system.daemons import before_slurm, drop_in
from gpupool.compile.template import fill
from gpupool.slurm.keys.effects import at_start
from gpupool.slurm.keys.tables import own as own_keys
from gpupool.wanted import File

FOLDERS_CONF = "/etc/tmpfiles.d/gpupool-slurmd.conf"
# The scope of all jobs of the node; its name begins with the node's if several slurmd may share a machine.
_SCOPE = "*slurmstepd.scope"
_LISTED = 20  # keys: fewer are listed one by one in slurmd's file


def compute(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield slurmd's settings, its drop-in, and the rule for its directories: the same on nodes of one distribution."""
    return iter(_files(cluster, node.system.slurmd_needs_slurm_conf) if node.has("compute") else ())


@lru_cache(maxsize=4)
def _files(cluster: Cluster, needs_slurm_conf: bool) -> tuple[File, ...]:
    after = before_slurm(cluster)
    return (
        File("/etc/default/slurmd", slurmd_default(cluster)),
        drop_in(
            cluster,
            "slurmd",
            after=after,
            failed_scope=_SCOPE,
            open_files=cluster.policies.nofile,
            without_condition=needs_slurm_conf,
        ),
        File(FOLDERS_CONF, slurmd_folders(cluster)),
    )


@lru_cache(maxsize=4)
def slurmd_default(cluster: Cluster) -> str:
    """Return /etc/default/slurmd, with which slurmd gets its configuration from the controllers."""
    options = [f"--conf-server {','.join(servers(cluster))}"]
    if any(cluster.drivers.contained(node.name) for node in cluster.having("compute")):
        # -b reports the start as a boot: a container starts later than its host, whose boot time Slurm would use.
        options.append("-b")
    values = {"variable": "SLURMD_OPTIONS", "options": " ".join(options), "at_start": list(_at_start(cluster))}
    return fill("default", cluster=cluster, **values)


def _at_start(cluster: Cluster) -> Iterator[str]:
    """Yield the lines that slurmd reads only when it starts: a change of them restarts it."""
    texts = (("slurm.conf", slurm_conf(cluster)), ("gres.conf", gres_conf(cluster)))
    read = [
        f"{place}={value}"
        for name, text in texts
        for place, value in at_start(name, text, cluster.slurm.version, "slurmd").items()
        if not _always_the_same(place.key)
    ]
    if not read:
        return
    yield "# of what the controllers give out, slurmd reads this only when it starts:"
    if len(read) < _LISTED:
        yield from (f"# {line}" for line in read)
    else:  # this release reads all nodes only at start
        yield f"# {len(read)} keys, sha256 {sha256(chr(10).join(read).encode()).hexdigest()}"


def slurmd_folders(cluster: Cluster) -> str:
    """Return the drop-in of tmpfiles.d that removes leftovers of jobs at boot, after a crash."""
    return fill("slurmd-folders.conf", cluster=cluster, spool=cluster.slurm.spool.replace("%n", "*").replace("%h", "*"))


def _always_the_same(key: str) -> bool:
    return any(not own.option and not own.when and not own.word for own in own_keys("slurm_conf").get(key.lower(), ()))
