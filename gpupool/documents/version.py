"""The version of the form of `--json`."""

#: It grows if a key is removed, renamed or gets another meaning.
FORMAT_VERSION = 1
