"""The source distribution, the wheel built from it, and environments with only the wheel."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Built:
    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and an empty folder to work in."""

    bin: Path
    home: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        clean |= {
            "PATH": f"{self.bin}{os.pathsep}{clean['PATH']}",
            "XDG_STATE_HOME": str(self.home / "state"),
            **self.env,
            **env,
        }
        return subprocess.run(arguments, cwd=self.home, env=clean, capture_output=True, text=True, check=False)

    def good(self, *arguments: str | Path, **env: str) -> str:
        done = self.run(*arguments, **env)
        assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def build(out: Path) -> Built:
    """Build the wheel from the source distribution, which shows that both are complete."""
    shell(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    return Built(next(out.glob("*.tar.gz")), next(out.glob("*.whl")))


def install(wheel: Path, python: str | Path, place: Path, **env: str) -> Installed:
    """Create an environment below `place` with the wheel and its dependencies, in the versions of the lock."""
    constraints = place / "constraints.txt"
    constraints.write_text(pinned((ROOT / "requirements.lock").read_text()))
    inside = place / "venv" / "bin"
    if uv := shutil.which("uv"):
        shell(uv, "venv", "--quiet", "--python", python, place / "venv")
        shell(uv, "pip", "install", "--quiet", "--python", inside / "python", "-c", constraints, wheel)
    else:
        shell(python, "-m", "venv", place / "venv")
        shell(inside / "python", "-m", "pip", "install", "--quiet", "-c", constraints, wheel)
    (place / "empty").mkdir()
    return Installed(inside, place / "empty", env)


def interpreter(version: str) -> str | None:
    """Find a Python of this version that really starts; pyenv's shims may not start."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    named = shutil.which(f"python{version}")
    for path in [sys.executable if version == OURS else None, named, *map(str, kept)]:
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None


def pinned(lock: str) -> str:
    """Return the lock without its hashes: the wheel just built has no hash in it."""
    return re.sub(r"\s*\\\n\s+--hash=\S+", "", lock)


def shell(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
