"""The steps by which Slurm can be upgraded: the releases whose state each release reads."""

from collections.abc import Mapping

from gpupool.slurm.releases import KNOWN, RELEASES, TESTED, number

#: The oldest release whose state and database a release reads; it reads those of all releases in between. From its
#: SLURM_MIN_PROTOCOL_VERSION, and doc/html/upgrades.shtml; script/slurm-keys compares them.
READS_FROM: Mapping[str, str] = {
    "22.05": "20.11",
    "23.02": "21.08",
    "23.11": "22.05",
    "24.05": "23.02",
    "24.11": "23.02",
    "25.05": "23.11",
    "25.11": "24.05",
    "26.05": "24.11",
}


def takes_over_from(release: str) -> tuple[str, ...]:
    """Return the releases whose database and state a known release reads, oldest first.

    Its slurmdbd and slurmctld also work with daemons and job steps of these releases.
    """
    return RELEASES[RELEASES.index(READS_FROM[release]) : RELEASES.index(release)]


def hops(old: str, new: str) -> tuple[str, ...]:
    """Return the releases to upgrade to one after the other from `old`, `new` last; () if there is none.

    Of the ways with the fewest upgrades, it is one over the most rehearsed releases, and of these over the newest.
    """
    ways: list[tuple[str, ...]] = [(old,)]
    while ways:
        if complete := [way[1:] for way in ways if way[-1] == new]:
            return max(complete, key=lambda way: (len(set(way) & set(TESTED)), [number(hop) for hop in way]))
        ways = [(*way, newer) for way in ways for newer in KNOWN if way[-1] in takes_over_from(newer)]
    return ()
