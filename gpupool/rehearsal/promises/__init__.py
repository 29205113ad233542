"""The promises, one module a subject, in the order in which they are tried: each may use what the one before left."""

from gpupool.rehearsal.promises import (
    accounts,
    cap,
    hostile,
    labmates,
    least,
    limits,
    neighbours,
    order,
    owned,
    owners,
    reclaim,
    types,
    walls,
)
from gpupool.rehearsal.promises.base import Promise

# these need every CPU of a node: nothing is begun before them
FIRST: tuple[Promise, ...] = (cap.NODES, cap.CPUS)
REST: tuple[Promise, ...] = (
    accounts.OVERCAP,
    accounts.CLOSED,
    walls.WALLS,
    cap.CAP,
    owned.OWNED,
    owners.LOST,
    limits.PER_USER,
    least.LEAST,
    types.TYPES,
    order.ORDER,
    labmates.SPILL,
    labmates.USER_OVERCAP,
    labmates.LABMATE,
    hostile.HOSTILE,
    neighbours.CPUS,
    neighbours.MEMORY,
    reclaim.RANKS,
    reclaim.ARRAY,
    reclaim.EACH,
    reclaim.SPEED,
    reclaim.REQUEUE,
    reclaim.ALL,
    owners.STAY,
    walls.TIMEOUT,
)
PROMISES = (*FIRST, *REST)
