"""`gpupool verify`: run read-only checks on the live nodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, chosen, passed_over
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stderr, stdout
from gpupool.documents.state import VerifyDocument
from gpupool.power import powered_down
from gpupool.slurm.hostlists import fold_set
from gpupool.target import Target
from gpupool.terminal import styled
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.verify.run import Outcome

_NAMED = 2  # checks in one line


def command(
    inventory: Inventory,
    limit: Limit = None,
    on: OnOption = "auto",
    as_json: Json = False,
    as_page: Annotated[
        bool,
        typer.Option("--markdown", help="Print results by distribution, without names, to send to gpupool's authors."),
    ] = False,
) -> None:
    """Check the live nodes against the inventory. Exit code 1 if a check fails.

    Ask systemd, Slurm, munge, ports, mounts, GPUs and logins whether they work; `plan` and `drift` compare values.

    Changes: nothing.

    Examples:
      gpupool verify my-site
      gpupool verify my-site --limit @compute
      gpupool verify my-site --markdown
    """
    target = announced_runner(inventory, on, "verify").target
    names = chosen(target, limit) or {node.name for node in target.nodes}
    off = powered_down(target, names)
    out = sorted(node.name for node in target.nodes if node.name in names and node.drained_for is not None)
    outcomes = checked(target, names - {*off, *out})
    # a node that Slurm powered down during the checks has not failed
    off = (*off, *powered_down(target, {outcome.node for outcome in outcomes if not outcome.ok}))
    outcomes = [outcome for outcome in outcomes if outcome.node not in off]
    made = [outcome for outcome in outcomes if not outcome.not_checked]
    failed = sum(not outcome.ok for outcome in made)
    if as_page:
        from gpupool.verify.page import page

        print(page(target.cluster, outcomes), end="")
    elif as_json:
        print_json(VerifyDocument({
            "ok": not failed,
            "asleep": list(off),
            "out_of_service": out,
            "checks": [
                {"check": each.check, "node": each.node, "ok": each.ok, "why": each.why, "seconds": each.seconds}
                for each in made
            ],
            "not_checked": [
                {"check": each.check, "node": each.node, "reason": each.not_checked}
                for each in outcomes
                if each.not_checked
            ],
        }))  # fmt: skip
    else:
        show_failures(outcomes)
        nodes = counted(len({outcome.node for outcome in made}), "node")
        result = f"{failed} failed" if failed else "all pass"
        omitted = f", {len(outcomes) - len(made)} not made" if len(made) < len(outcomes) else ""
        summary = f"{counted(len(made), 'check')} on {nodes}: {result}{omitted}{passed_over(off)}"
        if out:
            summary += f"; out of service, not checked: {', '.join(out)}"
        stdout.print(summary, style="bold red" if failed else "bold green")
    if failed:
        raise SystemExit(1)


def checked(target: Target, names: set[str]) -> "Sequence[Outcome]":
    """Return the outcome of each check on these nodes, and show the current check meanwhile."""
    # testinfra and pytest are slow to import, so only this function imports them
    from gpupool.verify.run import Outcome, run

    count = 0
    with stderr.status("checking") as status:

        def show(outcome: Outcome) -> None:
            nonlocal count
            count += 1
            status.update(styled(f"{count} checks; {outcome.node}: {outcome.check}"))

        return run(target, names, show)


def show_failures(outcomes: "Sequence[Outcome]") -> int:
    """Print the failed checks and the checks that could not be made; return how many failed."""
    failed = [outcome for outcome in outcomes if not outcome.ok]
    for failure in failed:
        stdout.print(styled((failure.node, "red"), f": {failure.check}: {failure.why}"))
    by_reason: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.not_checked:
            by_reason.setdefault(outcome.not_checked, []).append(outcome)
    for reason, some in by_reason.items():
        checks = list(dict.fromkeys(outcome.check for outcome in some))
        nodes = fold_set(outcome.node for outcome in some)
        more = f" and {len(checks) - _NAMED} more" if len(checks) > _NAMED else ""
        stdout.print(f"not checked on {nodes}: {', '.join(checks[:_NAMED])}{more}: {reason}", style="dim")
    return len(failed)
