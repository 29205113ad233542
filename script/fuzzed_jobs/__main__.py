"""Random jobs on a real slurmctld: none holds more than it may, owners' jobs start, and all daemons answer."""

import argparse
import sys
import time
from typing import get_args

from gpupool.slurm.releases import Tested

from .forms import FORMS, form
from .invariants import Invariants
from .legal import Legal
from .place import Place, cases, reckoning, twin
from .report import data, screen
from .run import Outcome, Run
from .talk import Inside

BOUND = 15  # seconds within which the guard acts, beside its interval
_SOON = 2.5  # the bound without a guard, when nothing will end an excess, in seconds


class Forms:
    """The known forms of a bypass that a run has found, with the number of the first job of each."""

    def __init__(self) -> None:
        """Begin with none."""
        self.first: dict[str, int] = {}
        self.known = 0

    def all_found(self, outcome: Outcome) -> bool:
        """Record the forms of the new violations; return whether every form was found."""
        for violation in outcome.violations[self.known :]:
            for case in outcome.cases.get(violation.subject, ()):
                if name := form(case, violation.text):
                    self.first.setdefault(name, case.number)
        self.known = len(outcome.violations)
        return self.first.keys() >= FORMS.keys()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/fuzz", description=__doc__)
    parser.add_argument("--case", type=int, action="append", metavar="N", help="only the case of this number")
    parser.add_argument("--jobs", type=int, default=2000, help="how many; with --legal, tasks of arrays count (2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the choices (1)")
    parser.add_argument("--release", choices=get_args(Tested), default="24.11", help="of Slurm (24.11)")
    parser.add_argument("--without", choices=("plugin", "guard", "both"), help="what the cluster does not have")
    parser.add_argument("--plugin", metavar="COMMIT", help="the submit plugin is that of this commit")
    parser.add_argument("--legal", action="store_true", help="legal jobs only: none may be refused, held or ended")
    parser.add_argument("--forms", action="store_true", help="end when every known form of a bypass was first")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args()


def main() -> int:
    """Run as the command line asks; return the exit code."""
    asked = _asked()
    began = time.monotonic()

    def tell(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)

    without = {"both": {"plugin", "guard"}, None: set()}.get(asked.without, {asked.without})
    place = Place(asked.release, frozenset(without), asked.plugin)
    title = f"{place.title}, seed {asked.seed}{', legal jobs' if asked.legal else ''}"
    with twin(place, tell) as started:
        random_cases = cases(started, asked.seed, place.left_out)
        make = Legal(started.cluster, asked.seed).case if asked.legal else random_cases.case
        bound = _SOON if "guard" in without else BOUND + started.times["arbiter"]
        invariants = Invariants(reckoning(started), bound)
        inside = Inside(started.name)
        forms = Forms()
        try:
            probe_bound = started.times["grace"] + BOUND + started.times["arbiter"]
            run = Run(inside, invariants, make, legal=asked.legal, probe_bound=probe_bound, tell=tell)
            if asked.forms:
                run.stop = forms.all_found
            outcome = run.until(asked.jobs, asked.case)
        finally:
            inside.close()
    forms.all_found(outcome)
    if asked.legal and outcome.counts["started"] < asked.jobs / 10:
        outcome.alarms.append(f"only {outcome.counts['started']} jobs started")
    first = {name: forms.first.get(name) for name in FORMS} if asked.forms else {}
    print(data(outcome, title, {"forms": first}) if asked.json else screen(outcome, title))
    if first and not asked.json:
        print("jobs until each form: " + ", ".join(f"{name} {count or '-'}" for name, count in first.items()))
    return 1 if outcome.violations or outcome.alarms else 0


if __name__ == "__main__":
    sys.exit(main())
