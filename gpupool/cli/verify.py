"""`gpupool verify`: is it so? Read-only checks on the live nodes."""

from gpupool.asleep import asleep
from gpupool.cli.running import announced_door, chosen, passed_over
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stderr, stdout
from gpupool.terminal import styled
from gpupool.wording import counted


def command(inventory: Inventory, limit: Limit = None, on: OnOption = "auto", as_json: Json = False) -> None:
    """Check the live nodes against the inventory, without changing anything. Exit code 1 if a check fails."""
    target = announced_door(inventory, on, "verify").target
    # testinfra and pytest are slow to import: only this command waits for them
    from gpupool.verify.run import Outcome, run

    seen: list[Outcome] = []

    with stderr.status("checking") as status:

        def tell(outcome: Outcome) -> None:
            seen.append(outcome)
            status.update(styled(f"{len(seen)} checks; {outcome.node}: {outcome.check}"))

        names = chosen(target, limit) or {node.name for node in target.nodes}
        resting = asleep(target, names)
        outcomes = run(target, names - set(resting), tell)
        # one that was switched off meanwhile is not wrong, either
        failing = {it.node for it in outcomes if not it.ok}
        resting = (*resting, *asleep(target, failing))
        outcomes = [it for it in outcomes if it.node not in resting]
    failed = [it for it in outcomes if not it.ok]
    if as_json:
        print_json({"ok": not failed, "asleep": list(resting), "checks": [it.as_dict() for it in outcomes]})
    else:
        for failure in failed:
            stdout.print(styled((failure.node, "red"), f": {failure.check}: {failure.why}"))
        summary = f"{counted(len(outcomes), 'check')} on {counted(len({it.node for it in outcomes}), 'node')}: "
        summary += (f"{len(failed)} failed" if failed else "all pass") + passed_over(resting)
        stdout.print(summary, style="bold red" if failed else "bold green")
    if failed:
        raise SystemExit(1)
