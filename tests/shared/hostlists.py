"""Hostlists and folded lines read by Slurm's rules: slurm.conf(5), and expand_nodeline_info of its node_conf.c."""

_PAIRED = ("NodeName", "NodeHostname", "NodeAddr", "Port")


def as_slurm_reads(hostlist: str) -> list[str]:
    """Return the names in Slurm's order; brackets are only allowed at the end of a name."""
    found: list[str] = []
    for word in hostlist.replace("],", "]\n").split("\n"):
        head, _, inside = word.partition("[")
        *before, prefix = head.split(",")
        found += [name for name in before if name]
        if not inside:
            found.append(prefix)
            continue
        assert inside.endswith("]")
        for part in inside[:-1].split(","):
            first, _, last = part.partition("-")
            # Slurm refuses a range that breaks the first rule, and prints in another form if the second is broken
            assert int(first) <= int(last or first) < int(first) + 65536
            assert first == "0" or first[0] != "0" or len(first) == len(last or first)
            found += [f"{prefix}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return found


def each(line: str) -> list[dict[str, str]]:
    """Return the nodes of a line as mappings of all its words, with each node's name, host name, address and port."""
    words = dict(word.split("=", 1) for word in line.split())
    names = as_slurm_reads(words.get("NodeName", "one"))
    rows = [dict(words) for _ in names]
    for key in _PAIRED:
        values = as_slurm_reads(words[key]) if key in words else []
        # one value counts for all nodes
        assert len(values) in (0, 1, len(names)), line
        for index, row in enumerate(rows if values else ()):
            row[key] = values[index if len(values) > 1 else 0]
    return rows
