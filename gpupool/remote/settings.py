"""The settings of OpenSSH's client for a node: the reader of what `ssh -G` prints."""

from collections.abc import Mapping, Sequence

#: Options of OpenSSH by their names in small letters, each with all its values.
Settings = Mapping[str, Sequence[str]]


def read(output: bytes) -> Settings:
    """Return the options that `ssh -G` has printed; bytes that are not UTF-8 become the replacement character."""
    values: dict[str, list[str]] = {}
    for line in output.decode(errors="replace").splitlines():
        name, _, value = line.partition(" ")
        values.setdefault(name, []).append(value)
    return values
