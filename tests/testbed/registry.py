"""A registry of container images with the names docker.io and nvcr.io: the real ones cannot be reached."""

from collections.abc import Iterator
from contextlib import contextmanager

from pace import until

from tests.testbed.cluster import Testbed

NAMES = "index.docker.io registry-1.docker.io nvcr.io"
_FOLDER = "/var/tmp/registry"
_CERTIFICATE = "/usr/local/share/ca-certificates/test-registry.crt"
_TRUST = f"cat > {_CERTIFICATE} && update-ca-certificates >/dev/null 2>&1"
_FORGET = f"rm -f {_CERTIFICATE}; update-ca-certificates >/dev/null 2>&1; sed -i '/ nvcr.io$/d' /etc/hosts"
_KEY = f"""openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-registry \\
-addext subjectAltName=DNS:{NAMES.replace(" ", ",DNS:")} -keyout {_FOLDER}/key.pem -out {_FOLDER}/cert.pem"""
#: Packs a folder as an image of one layer. $1 the folder, $2 the destination, then names as NAME:TAG.
_PACK = r"""
import gzip, hashlib, io, json, sys, tarfile
from pathlib import Path
root, to, *names = sys.argv[1:]
def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()
def keep(data, kind):
    (Path(to) / digest(data)).write_bytes(data)
    return {"mediaType": f"application/vnd.docker.{kind}", "size": len(data), "digest": digest(data)}
plain = io.BytesIO()
with tarfile.open(fileobj=plain, mode="w") as tar:
    tar.add(root, arcname=".")
config = {"architecture": "amd64", "os": "linux", "config": {"Cmd": ["sh", "-c", "echo moo"]}}
config["rootfs"] = {"type": "layers", "diff_ids": [digest(plain.getvalue())]}
manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
manifest["config"] = keep(json.dumps(config).encode(), "container.image.v1+json")
manifest["layers"] = [keep(gzip.compress(plain.getvalue(), 1), "image.rootfs.diff.tar.gzip")]
text = json.dumps(manifest).encode()
for name in [digest(text), *names]:
    (Path(to) / name.replace("/", "_")).write_bytes(text)
"""
#: Serves a read-only registry. $1 the folder with its images and its certificate.
_SERVE = r"""
import hashlib, os, re, ssl, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
class Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        asked = re.fullmatch(r"/v2/(?:(.+)/(manifests|blobs)/([^/]+))?", self.path)
        name, kind, reference = asked.groups() if asked else ("", "", "")
        called = reference if ":" in (reference or "") else f"{name}:{reference}".replace("/", "_")
        file = Path(called) if reference else None
        data = file.read_bytes() if file and file.is_file() else b""
        self.send_response(200 if data or self.path == "/v2/" else 404)
        manifest = "application/vnd.docker.distribution.manifest.v2+json"
        self.send_header("Content-Type", manifest if kind == "manifests" else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Content-Digest", "sha256:" + hashlib.sha256(data).hexdigest())
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)
    do_HEAD = do_GET
os.chdir(sys.argv[1])
server = ThreadingHTTPServer(("", 443), Registry)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@contextmanager
def serving(testbed: Testbed, node: str, root: str, *names: str, to: tuple[str, ...]) -> Iterator[None]:
    """Serve a folder of a node as an image under some names, NAME:TAG, to other nodes."""
    testbed.out(
        node, f"systemctl stop test-registry 2>/dev/null; rm -rf {_FOLDER}; mkdir -p {_FOLDER} && {_KEY} 2>/dev/null"
    )
    testbed.out(node, f"python3 - {root} {_FOLDER} {' '.join(names)}", text=_PACK)
    testbed.out(node, f"cat > {_FOLDER}/serve.py", text=_SERVE)
    testbed.out(node, f"systemd-run -q --unit=test-registry python3 {_FOLDER}/serve.py {_FOLDER}")
    certificate = testbed.out(node, f"cat {_FOLDER}/cert.pem") + "\n"
    address = testbed.cluster.nodes[node].address
    try:
        for client in to:
            testbed.out(client, _TRUST, text=certificate)
            testbed.out(client, f"echo '{address} {NAMES}' >> /etc/hosts")
        until(
            lambda: testbed.run(to[0], f"bash -c ': </dev/tcp/{address}/443'").returncode == 0, "the registry answers"
        )
        yield
    finally:
        for client in to:
            testbed.out(client, _FORGET)
        testbed.out(node, f"systemctl stop test-registry; rm -rf {_FOLDER} {root}")
