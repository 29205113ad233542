"""The last month in which SchedMD supports a release of Slurm."""

from collections.abc import Mapping
from datetime import date

SOURCE = "https://slurm.schedmd.com/upgrades.html"
#: Year and month. From the table in doc/html/upgrades.shtml of 24.05 (for 23.02) and of 26.05. The table lacks 22.05:
#: here is the month of its last version, 22.05.11. For 26.05 it names November 2028 and 18 months, which do not fit
#: together: here are the 18 months.
UNTIL: Mapping[str, tuple[int, int]] = {
    "22.05": (2023, 12),
    "23.02": (2024, 11),
    "23.11": (2025, 5),
    "24.05": (2025, 11),
    "24.11": (2026, 5),
    "25.05": (2026, 11),
    "25.11": (2027, 5),
    "26.05": (2027, 11),
}


def has_ended(release: str, day: date) -> bool:
    """Return whether SchedMD's support of a known release has ended before a day."""
    return (day.year, day.month) > UNTIL[release]
