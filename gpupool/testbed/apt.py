"""Debian packages that this machine needs for a testbed."""

import os
import shutil
import subprocess


def install(packages: list[str]) -> str | None:
    """Install packages if we are root on Debian; return None, or the reason why they are not installed."""
    if not shutil.which("apt-get"):
        return "this is not Debian"
    if os.geteuid() != 0:
        return f"only root can install it: sudo apt-get install {' '.join(packages)}"
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *packages]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:  # the lists of packages may be missing or old
        subprocess.run(["apt-get", "update", "--quiet"], env=env, capture_output=True, check=False)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
    return lines[0].removeprefix("E:").strip() if lines else f"apt-get ended with {done.returncode}"
