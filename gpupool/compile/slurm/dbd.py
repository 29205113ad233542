"""slurmdbd.conf and the database settings that slurmdbd asks for."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.parameters import merged, pairs
from gpupool.compile.template import fill


def slurmdbd_conf(cluster: Cluster) -> str:
    """Return slurmdbd.conf; without a password: the database knows slurmdbd by its socket's user."""
    parameters = cluster.slurm.slurmdbd.parameters
    text = fill("slurmdbd.conf", cluster=cluster, database=cluster.database, parameters=pairs(parameters))
    return merged(text, parameters)


def mariadb_conf(cluster: Cluster) -> str:
    """Return the drop-in of MariaDB."""
    return fill("mariadb.cnf", cluster=cluster)
