"""The manual pages in man/: they have the present help texts, in a form that man shows without complaints."""

import shutil
import subprocess
from typing import Any

import manual
import pytest

from gpupool.cli.app import COMMANDS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Return the pages of the present help texts."""
    return manual.pages()


def test_the_pages_have_the_present_help_texts(pages: dict[str, str]) -> None:
    kept = {path.name: path.read_text() for path in manual.FOLDER.iterdir()}
    assert kept == pages, "run script/docs, or python script/manual.py alone"


def test_each_command_has_a_page_with_its_options_and_examples(pages: dict[str, str]) -> None:
    assert {*pages} == {"gpupool.1", *(f"gpupool-{name}.1" for name in COMMANDS)}
    for name, page in pages.items():
        assert page.count("\\fB\\-h, \\-\\-help\\fR") >= 1, name
        assert page.isascii(), name
    assert "\\fB\\-\\-limit NODES\\fR\nOnly these nodes" in pages["gpupool-plan.1"]
    assert ".SH EXAMPLES\n.nf\ngpupool plan my\\-site\n" in pages["gpupool-plan.1"]
    assert '.SH "GPUPOOL TESTBED UP"' in pages["gpupool-testbed.1"]


def test_signs_of_troff_are_shown_as_they_are(pages: dict[str, str]) -> None:
    assert manual.as_troff("it's `a-b` \\n…") == r"it\(aqs \(gaa\-b\(ga \en\[u2026]"
    assert manual.as_troff(".a") == r"\&.a"


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff on this machine")
def test_groff_has_no_complaint(pages: dict[str, str]) -> None:
    """groff warns about unknown requests, fonts and characters."""
    done: Any = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"], input="\n".join(pages.values()), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "gpupool plan my-site" in done.stdout
