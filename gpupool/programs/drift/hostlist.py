"""Lists of nodes as slurm.conf and scontrol write them."""

import re


def unfolded(hostlist: str) -> list[str]:
    """Return the names of `a[01-03,7],b[1-2]-x`; what is written otherwise stays as it is."""
    names: list[str] = []
    for word in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", hostlist):
        simple = re.fullmatch(r"([^\[\]]*)(?:\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\])?([^\[\]]*)", word)
        if not simple:
            return [hostlist]
        before, numbers, after = simple.groups()
        if numbers is None:
            names.append(word)
            continue
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            names += [f"{before}{number:0{len(first)}}{after}" for number in range(int(first), int(last or first) + 1)]
    return names
