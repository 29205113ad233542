"""A small container image made of a node's own programs: no registry can be reached."""

import shlex
from collections.abc import Mapping

from tests.testbed.cluster import Testbed

#: Creates a root folder with the files that a shell needs; $1 the folder, $2 "python" for Python too. Empty files are
#: mount points.
_ROOT = r"""
set -eu
root=$1
rm -rf "$root"
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/var/tmp" "$root/workspace"
for name in dev etc home proc root sys tmp; do mkdir "$root/$name"; done
chmod 1777 "$root/tmp" "$root/var/tmp"
ln -s usr/bin usr/lib usr/lib64 "$root/"
libraries() {
  for library in $(ldd "$@" | grep -oE '[[:space:]]/[^ ]+' | sort -u); do
    to=$root/usr${library#/usr}; mkdir -p "${to%/*}"; cp -Ln "$library" "$to"
  done
}
for name in sh bash ls cat id touch env sleep nproc grep mkdir chmod rm true ${2:+python3}; do
  cp -L "/usr/bin/$name" "$root/usr/bin/"; libraries "/usr/bin/$name"
done
if [ "${2-}" ]; then
  folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
  mkdir -p "$root$folder"; cp -rL "$folder/." "$root$folder/"
  libraries "$folder"/lib-dynload/*.so
fi
for file in hosts resolv.conf localtime; do : > "$root/etc/$file"; done
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"
"""
#: Serves a page to clients with its token, as Jupyter does; only with the Python modules that nodes have.
JUPYTER = """#!/usr/bin/python3
import argparse, os, socket
parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["notebook"])
parser.add_argument("--ip", required=True)
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--no-browser", action="store_true")
asked = parser.parse_args()
token = os.urandom(24).hex()
server = socket.create_server((asked.ip, asked.port))
print(f"http://localhost:{asked.port}/?token={token}", flush=True)
while True:
    reader = server.accept()[0]
    wanted = reader.recv(4096).decode().split(" ")[1]
    answer = "200 OK" if wanted.endswith("token=" + token) else "403 Forbidden"
    reader.sendall(f"HTTP/1.0 {answer}\\r\\n\\r\\nJupyter".encode())
    reader.close()
"""


def make_image(
    testbed: Testbed,
    node: str,
    *names: str,
    command: str = "echo moo",
    python: bool = False,
    programs: Mapping[str, str] | None = None,
) -> None:
    """Load an image under some names into docker on a node; it starts in /workspace, and has these other programs."""
    root = make_root(testbed, node, python=python, programs=programs)
    changes = f"--change 'WORKDIR /workspace' --change 'CMD {command}'"
    testbed.out(node, f"tar -C {root} -c . | docker import {changes} - {names[0]}")
    for name in names[1:]:
        testbed.out(node, f"docker tag {names[0]} {name}")


def make_root(testbed: Testbed, node: str, *, python: bool = False, programs: Mapping[str, str] | None = None) -> str:
    """Create a folder on a node with the files of an image, and return its path."""
    root = "/var/tmp/image"
    testbed.out(node, f"sh -s {root} {'python' if python else ''}", text=_ROOT)
    for name, text in (programs or {}).items():
        to = shlex.quote(f"{root}/usr/bin/{name}")
        testbed.out(node, f"cat > {to} && chmod 755 {to}", text=text)
    return root
