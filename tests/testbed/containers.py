"""A small container image made of a node's own programs: there is no registry to have one from."""

from tests.testbed.cluster import Testbed

#: A folder with what a shell needs, as an image has it; $1 the folder. Empty files are for what is mounted over them.
_ROOT = r"""
set -eu
rm -rf "$1"; mkdir -p "$1/usr/bin" "$1/usr/lib" "$1/usr/lib64" "$1/var/tmp" "$1/workspace"
for name in dev etc home proc root sys tmp; do mkdir "$1/$name"; done
chmod 1777 "$1/tmp" "$1/var/tmp"
ln -s usr/bin usr/lib usr/lib64 "$1/"
for name in sh bash ls cat id touch env sleep nproc grep mkdir chmod rm true; do
  program=/usr/bin/$name; cp -L "$program" "$1/usr/bin/"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    to=$1/usr${library#/usr}; mkdir -p "${to%/*}"; cp -Ln "$library" "$to"
  done
done
for file in hosts resolv.conf localtime; do : > "$1/etc/$file"; done
echo 'root:x:0:0:root:/root:/bin/sh' > "$1/etc/passwd"
echo 'root:x:0:' > "$1/etc/group"
"""


def make_image(testbed: Testbed, node: str, *names: str, command: str = "echo moo") -> None:
    """Give the docker of a node an image under some names; it starts in /workspace."""
    testbed.out(node, "sh -s /var/tmp/image", text=_ROOT)
    changes = f"--change 'WORKDIR /workspace' --change 'CMD {command}'"
    testbed.out(node, f"tar -C /var/tmp/image -c . | docker import {changes} - {names[0]}")
    for name in names[1:]:
        testbed.out(node, f"docker tag {names[0]} {name}")
