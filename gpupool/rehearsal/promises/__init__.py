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

#: These need every CPU of a node: no job is begun before them.
FIRST: tuple[Promise, ...] = (cap.NODES, cap.CPUS)
MIDDLE: tuple[Promise, ...] = (
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
)
#: Its job is begun after FIRST and runs all the while: it is looked at after the promises of a site, too.
LAST: tuple[Promise, ...] = (walls.TIMEOUT,)
PROMISES = (*FIRST, *MIDDLE, *LAST)
