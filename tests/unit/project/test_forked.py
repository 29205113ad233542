"""The forked command line of the tests gives the same results as the command line."""

import subprocess
import sys
from pathlib import Path

import forked
import pytest


def test_it_has_the_output_and_exit_code_of_a_separate_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for words in (["check", "nowhere"], ["schema"]):
        command = [sys.executable, "-m", "gpupool", *words]
        alone = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        done = forked.command(words, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)
