"""A testbed's cloud: the actions on its containers allowed to the controller's root, with a fake docker socket."""

import json
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

OURS = {"gpupool.testbed": "gpupool-x", "gpupool.testbed.node": "a"}


class Docker(socketserver.ThreadingUnixStreamServer):
    """A fake dockerd for the requests of these tests, which records them."""

    asked: list[str]


class Answers(BaseHTTPRequestHandler):
    """One container of the testbed, and its bare anchor; only the first can be started."""

    server: Docker

    def _answer(self) -> None:
        self.server.asked.append(f"{self.command} {unquote(self.path)}")
        listed = [{"Id": "1f", "State": "exited", "Labels": OURS}, {"Id": "2f", "State": "running", "Labels": {}}]
        body: Any = listed if self.command == "GET" else {}
        status = 200
        if self.path.endswith("/stop?t=60"):
            status, body = 500, {"message": "cannot stop"}
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _answer  # noqa: N815

    def address_string(self) -> str:
        return "x"

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def docker(folder: Path) -> Iterator[Docker]:
    with Docker(str(folder / "s"), Answers) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("line", "prints", "asks"),
    [
        ("list", {"a": "exited"}, None),
        ("on a", {}, "POST /containers/1f/start"),
        ("off a", {"error": "cannot stop"}, "POST /containers/1f/stop?t=60"),
        ("on b", {"error": "there is no container b"}, None),
    ],
)
def test_a_line_switches_a_container_of_this_testbed_only(
    tmp_path: Path, line: str, prints: dict[str, str], asks: str | None
) -> None:
    text = resources.files("gpupool.testbed").joinpath("cloud_switch.py").read_text()
    text = text.replace("/root/docker.sock", str(tmp_path / "s")).replace("/root/testbed", str(tmp_path / "testbed"))
    (tmp_path / "testbed").write_text("gpupool-x\n")
    with docker(tmp_path) as server:
        done = subprocess.run(
            [sys.executable, "-I", "-c", text], input=f"{line}\n", capture_output=True, text=True, check=False
        )
    assert json.loads(done.stdout) == prints, done.stderr
    assert server.asked[0] == 'GET /containers/json?all=1&filters={"label": ["gpupool.testbed=gpupool-x"]}'
    assert server.asked[1:] == ([asks] if asks else [])
