"""The promises, one module for each subject, in the order of their tests: later ones may use jobs of earlier ones."""

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

#: These need every CPU of a node, so no other job is started before them.
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
#: The job is started after FIRST, runs during all other tests, and is checked after them, the site's included.
LAST: tuple[Promise, ...] = (walls.TIMEOUT,)
PROMISES = (*FIRST, *MIDDLE, *LAST)
