"""slurmdbd.conf, and the settings of MariaDB that slurmdbd needs."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.parameters import merged, pairs
from gpupool.compile.template import fill


def slurmdbd_conf(cluster: Cluster) -> str:
    """Return slurmdbd.conf, without a password: MariaDB authenticates slurmdbd by the user of its socket."""
    parameters = cluster.slurm.slurmdbd.parameters
    text = fill("slurmdbd.conf", cluster=cluster, database=cluster.database, parameters=pairs(parameters))
    return merged(text, parameters)


def mariadb_conf(cluster: Cluster) -> str:
    """Return the drop-in of MariaDB."""
    return fill("mariadb.cnf", cluster=cluster)
