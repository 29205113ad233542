"""The end of a run as one screen, or as JSON."""

import json
from collections.abc import Mapping

from .run import Outcome

_MOST = 4  # violations and alarms that are shown in full


def screen(outcome: Outcome, title: str) -> str:
    """Return the result of a run."""
    counts = outcome.counts
    lines = [
        f"{title}: {counts['jobs']} jobs in {outcome.seconds:.0f} s",
        f"  submissions: {counts['submissions accepted']} accepted, {counts['submissions refused']} refused; "
        f"changes: {counts['changes accepted']} accepted, {counts['changes refused']} refused",
        f"  {counts['started']} jobs started; {counts['excesses']} held more than they may, "
        f"the longest for {outcome.longest:.1f} s; {counts['held by the guard']} held by the guard",
        f"  {counts['probes']} probes of an owner, the longest wait {outcome.probe:.1f} s",
        f"{len(outcome.violations)} violations, {len(outcome.alarms)} false alarms",
    ]
    for violation in outcome.violations[:_MOST]:
        lines.append(f"  {violation.subject}, for {violation.seconds:.0f} s: {violation.text}")
        lines += [f"    held: {violation.held[:300]}"] if violation.held else []
        for case in outcome.cases.get(violation.subject, ()):
            lines.append(f"    case {case.number}:")
            lines += [f"    {step.shown()[:600]}" for step in case.steps]
    lines += [f"  {alarm[:400]}" for alarm in outcome.alarms[:_MOST]]
    left = max(0, len(outcome.violations) - _MOST) + max(0, len(outcome.alarms) - _MOST)
    return "\n".join([*lines, *([f"  and {left} more"] if left else [])])


def data(outcome: Outcome, title: str, more: Mapping[str, object]) -> str:
    """Return the result of a run as JSON."""
    violations = [
        {
            "subject": violation.subject,
            "text": violation.text,
            "held": violation.held,
            "seconds": round(violation.seconds, 1),
            "cases": {
                case.number: [step.shown() for step in case.steps] for case in outcome.cases.get(violation.subject, ())
            },
        }
        for violation in outcome.violations
    ]
    values = {
        "run": title,
        "counts": dict(outcome.counts),
        "refusals": dict(outcome.refusals.most_common(40)),
        "violations": violations,
        "alarms": outcome.alarms,
        "longest_excess_s": round(outcome.longest, 1),
        "longest_probe_s": round(outcome.probe, 1),
        "seconds": round(outcome.seconds, 1),
        **more,
    }
    return json.dumps(values, indent=1)
