"""Shell for what goes to a node's disk: what could not be written is named, and why, and on which disk."""

from gpupool.shell import shell_file

#: To stand at the head of a script.
DISK = shell_file(__package__, "disk.sh")
