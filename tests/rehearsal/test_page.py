"""The report opened by a lab head: in a browser, without a network; the pictures are kept in build/rehearsal."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from rehearsed import CAPS, rehearsal

from gpupool.rehearsal.report.page import page

SHOTS = Path(__file__).parents[2] / "build" / "rehearsal"
# no connection leaves: the proxy is a port without a listener
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-sync"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-extensions",
    ),
)

_BROWSER = "not an origin"


@pytest.fixture(scope="module")
def chromium() -> str:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.fail(
            "the report is tested in a browser, and there is none: "
            "apt-get install --no-install-recommends chromium (script/test rehearsal does it)"
        )
    return browser


@pytest.fixture(scope="module", params=["kept", "broken"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    file.write_text(page(rehearsal(broken=request.param == "broken")))
    return file


def _open(chromium: str, file: Path, *options: str) -> str:
    """Open a file in a separate browser and return the output."""
    profile = file.parent / f"profile-{time.monotonic_ns()}"
    done = subprocess.run(
        [chromium, *QUIET, f"--user-data-dir={profile}", *options, file.as_uri()],
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(profile, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _asked(log: Path) -> set[str]:
    """Return every address that a page requested, from the browser's log of the network.

    The browser's own requests (updates, the time) have no page as their origin, and fail here.
    """
    asks = [event.get("params") or {} for event in json.loads(log.read_text())["events"]]
    return {
        ask["url"] for ask in asks if ask.get("initiator", _BROWSER) != _BROWSER and not ask["url"].startswith("file:")
    }


@pytest.mark.parametrize(("width", "height"), [(1280, 3200), (500, 4200)])
def test_the_page_opens_without_a_network_request(chromium: str, report: Path, width: int, height: int) -> None:
    log = report.parent / "net.json"
    SHOTS.mkdir(parents=True, exist_ok=True)
    shot = SHOTS / f"{report.stem}-{width}.png"
    shot.unlink(missing_ok=True)
    _open(chromium, report, f"--log-net-log={log}", f"--window-size={width},{height}", f"--screenshot={shot}")
    assert shot.stat().st_size > 50_000
    assert _asked(log) == set()


def test_a_request_of_a_page_would_be_found(chromium: str, tmp_path: Path) -> None:
    file, log = tmp_path / "asks.html", tmp_path / "net.json"
    file.write_text('<img src="http://localhost:9/x.png">')
    _open(chromium, file, f"--log-net-log={log}", f"--screenshot={tmp_path / 'x.png'}")
    assert _asked(log) == {"http://localhost:9/x.png"}


def test_every_lab_is_visible_in_the_timeline(chromium: str, report: Path) -> None:
    """The browser itself reports the drawn elements and their size, after the page's script has run."""
    probe = """
      const seen = [...document.querySelectorAll(".row.lab")].map((row) => {
        const box = row.querySelector("svg").getBoundingClientRect(), owned = row.querySelector("path.owned").getBBox();
        return [row.dataset.lab, box.width, box.height, owned.height];
      });
      const line = document.getElementById("timeline"), first = line.querySelector("svg").getBoundingClientRect();
      line.dispatchEvent(new PointerEvent("pointermove", {clientX: first.left + first.width / 2, clientY: first.top}));
      const shown = [...line.querySelectorAll("output")].map((it) => it.textContent);
      const wide = document.documentElement.scrollWidth;
      document.title = JSON.stringify({seen, shown, wide, when: document.getElementById("when").textContent});
    """
    html = report.read_text().replace("</body>", f"<script>{probe}</script></body>")
    file = report.with_name(f"probe-{report.name}")
    file.write_text(html)
    for width in (1280, 500):
        printed = _open(chromium, file, f"--window-size={width},2000", "--dump-dom")
        title = re.search(r"<title>(.*?)</title>", printed, re.DOTALL)
        assert title is not None
        state = json.loads(title[1].replace("&amp;", "&"))
        assert [lab for lab, *_ in state["seen"]] == list(CAPS)
        assert all(across > 300 and high > 30 and owned > 5 for _, across, high, owned in state["seen"])
        assert len(state["shown"]) == len(CAPS) + 1
        assert all(re.match(r"\d+ owned", words) for words in state["shown"])
        assert state["when"].startswith("at 1:")
        assert state["wide"] <= width, "nothing sticks out to the side"
