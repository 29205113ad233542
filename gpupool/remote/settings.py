"""Parse the settings of OpenSSH's client for a node, from the output of `ssh -G`."""

from collections.abc import Mapping, Sequence

#: Options of OpenSSH by their names in lower case, each with all its values.
Settings = Mapping[str, Sequence[str]]


def read(output: bytes) -> Settings:
    """Return the options in the output of `ssh -G`; bytes that are not UTF-8 become the replacement character."""
    values: dict[str, list[str]] = {}
    for line in output.decode(errors="replace").splitlines():
        name, _, value = line.partition(" ")
        values.setdefault(name, []).append(value)
    return values
