"""Shell functions for writing to a node's disk: an error names the path, the reason and the disk."""

from gpupool.shell import shell_file

#: The beginning of a script that writes to the disk.
DISK = shell_file(__package__, "disk.sh")
