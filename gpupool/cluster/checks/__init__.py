"""Rules that an inventory of the right shape must still keep; one `ensure_…` each, all of them run."""

from gpupool.cluster.checks import names, policy, sums
from gpupool.cluster.checks.site import Check, Site
from gpupool.cluster.complaints import Complaint

CHECKS: tuple[Check, ...] = tuple(
    getattr(room, name) for room in (names, sums, policy) for name in vars(room) if name.startswith("ensure_")
)


def complaints(site: Site) -> list[Complaint]:
    """Run every check and give all complaints."""
    return [complaint for check in CHECKS for complaint in check(site)]
