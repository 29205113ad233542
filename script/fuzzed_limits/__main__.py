"""Compare what slurmctld accepts on random clusters with what their inventories say; keep each that differs."""

import shutil
import sys
import tempfile
from pathlib import Path

import fuzz
from fuzz_cases import KEPT, ROOT

from .run import tried

CLUSTERS = 20


def main(most: int, seed: int) -> int:
    """Try `most` clusters; return for how many jobs slurmctld and the inventory differ."""
    differing = accepted = refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count, outcome in enumerate(tried(seed, most, folder), 1):
            accepted, refused = accepted + outcome.accepted, refused + outcome.refused
            differing += len(outcome.differences)
            if outcome.differences:
                kept = KEPT / f"limits-{seed}-{outcome.number}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                for difference in outcome.differences:
                    print(f"{kept.relative_to(ROOT)}: {difference}", flush=True)
            print(f"{count} clusters: {accepted} jobs accepted, {refused} refused, {differing} differ", flush=True)
    return differing


if __name__ == "__main__":
    sys.exit(1 if main(*fuzz.asked(CLUSTERS)) else 0)
