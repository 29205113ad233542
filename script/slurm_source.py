"""A clone of Slurm's repository: the newest tag of each release, and the files there."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpupool.slurm.releases import RELEASES


@dataclass(frozen=True)
class Source:
    """A clone of Slurm's repository."""

    folder: Path

    @cache  # noqa: B019 - one clone for each process
    def tags(self) -> Mapping[str, str]:
        """Return the newest tag of each release."""
        newest: dict[str, tuple[list[int], str]] = {}
        for tag in self._git("tag").splitlines():
            if match := re.fullmatch(r"slurm-(\d+)-(\d+)-(\d+)-(\d+)", tag):
                year, month, *rest = match.groups()
                release = f"{year}.{month}"
                newest[release] = max(newest.get(release, ([], "")), ([int(part) for part in rest], tag))
        return {release: tag for release, (_, tag) in newest.items()}

    def releases(self) -> list[str]:
        """Return the releases to compare: from 21.08 on, which the tables take as their beginning."""
        return [release for release in RELEASES[1:] if release in self.tags()]

    @cache  # noqa: B019 - one clone for each process
    def text(self, release: str, *paths: str) -> str:
        """Return the first of these files that the release has, or an empty text."""
        return next((text for path in paths if (text := self._git("show", f"{self.tags()[release]}:{path}"))), "")

    def has(self, release: str, text: str, *paths: str) -> bool:
        """Return whether the release has a text in one of the paths; without a text, one of the paths."""
        tag = self.tags()[release]
        if not text:
            return any(self._git("ls-tree", tag, path) for path in paths)
        return bool(self._git("grep", "-lF", text, tag, "--", *paths))

    def writers(self, release: str) -> list[str]:
        """Return the files that write jobs as JSON, newest form first."""
        listed = self._git("ls-tree", "--name-only", self.tags()[release], "src/plugins/data_parser/").split()
        forms = sorted((path for path in listed if re.search(r"v[\d.]+$", path)), reverse=True)
        return [*(f"{form}/parsers.c" for form in forms), "src/plugins/openapi/v0.0.38/jobs.c"]

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, check=False)
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
