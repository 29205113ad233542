"""An inventory's data as YAML for people: one line for each node, partition and kind of hardware, with its source."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpupool.adopt.draft import Draft, rows
from gpupool.cluster.edit.nodes import flow
from gpupool.cluster.quote import escaped

_FILES = {
    "cluster.yml": ("schema", "cluster", "access", "policies", "gpu"),
    "nodes.yml": ("gpu_types", "hardware", "nodes"),
    "partitions.yml": ("accounts", "qos", "partitions"),
    "slurm.yml": ("slurm", "scheduler", "preemption"),
}
_HEADS = {
    "cluster.yml": (
        "# Written by `gpupool adopt` from a cluster's files; `adopted.tsv` has the fate of each line.\n"
        "# `manage` has the roles of gpupool: without others, it changes no package, unit, user or other file."
    ),
    "nodes.yml": (
        "# gpupool does not log in to nodes with `managed: false`: they are lines of slurm.conf. Memory is in MiB."
    ),
    "partitions.yml": "# Accounts and QoS are the names that partitions have; slurmdbd has the others.",
    "slurm.yml": (
        "# `left` has groups of keys that stay the site's; `gpupool adopt --steps` shows what each of them has.\n"
        "# `parameters` are in Slurm's own words."
    ),
}
_ENTRIES = ("gpu_types", "hardware", "qos", "nodes", "partitions", "accounts")
TABLE = "adopted.tsv"


def texts(draft: Draft) -> dict[str, str]:
    """Return the files of an inventory by name, and the table of all facts."""
    data = {key: _without_empty(value, top=key in _ENTRIES) for key, value in draft.data.items()}
    files = {
        name: [_HEADS[name], *(line for key in keys if key in data for line in _section(key, data[key], draft))]
        for name, keys in _FILES.items()
        if any(data.get(key) for key in keys)
    }
    return {**{name: "".join(f"{line}\n" for line in lines) for name, lines in files.items()}, TABLE: _table(draft)}


def _section(key: str, value: Any, draft: Draft) -> Iterator[str]:
    if not isinstance(value, dict | list):
        yield f"{key}: {flow(value)}"
        return
    if not value:
        return
    yield from ("", f"{key}:")
    if isinstance(value, list):
        yield from (f"  - {flow(item)}" for item in value)
        return
    for name, below in value.items():
        if key not in _ENTRIES and isinstance(below, dict) and len(below) > 1:
            yield f"  {flow(name)}:"
            for word, item in below.items():
                mark = "  # in no file of the site: see adopted.tsv" if (key, name, word) in draft.added else ""
                yield f"    {flow(word)}: {flow(item)}{mark}"
        else:
            yield f"  {flow(name)}: {flow(below)}"


def _without_empty(value: Any, *, top: bool = True) -> Any:
    """Return data without the mappings that pruning has left empty; an entry may be empty."""
    if isinstance(value, Mapping):
        below = {key: _without_empty(item, top=False) for key, item in value.items()}
        return {key: item for key, item in below.items() if top or item not in ({}, [])}
    return [_without_empty(item, top=False) for item in value] if isinstance(value, list) else value


def _table(draft: Draft) -> str:
    lines = ["place\tpair\tfate\twhere or why"]
    for fact, fate in rows(draft):
        pair = escaped(f"{fact.key}={fact.value}")
        lines.append("\t".join((str(fact.place), pair, fate.how, escaped(fate.where))))
    lines += ["\t".join(("-", pair, "added", where)) for pair, where in draft.added.values()]
    return "\n".join(lines) + "\n"
