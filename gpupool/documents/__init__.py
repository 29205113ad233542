"""The documents that commands print with `--json`: each key with its type and its meaning."""
