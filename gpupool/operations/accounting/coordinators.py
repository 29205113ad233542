"""Compare the coordinators of accounts.

Slurm prints a coordinator of an account also with every account below it. Only a coordinator whom the parent lacks is
surely set on the account itself. An inherited coordinator cannot be deleted from an account.
"""

from collections.abc import Mapping
from typing import Any

from gpupool.change import ABSENT, Aspect
from gpupool.operations.accounting.steps import Step, joined, step


def coordinators(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Return the commands that delete and add coordinators; accounts that another cluster has, too, lose none."""
    shown = {name: set(account.get("coordinators", ())) for name, account in now["accounts"].items()}
    goals = {name: set(given["coordinators"]) for name, given in wanted["accounts"].items() if "coordinators" in given}
    gone: dict[str, list[str]] = {}
    for name, goal in goals.items():
        if (
            name not in now["elsewhere"]
            and name in shown
            and wanted["exact"]
            and name not in wanted["also_managed_elsewhere"]
        ):
            for user in sorted(shown[name] - goal):
                gone.setdefault(user, []).append(name)
    inherited = {
        (name, user)
        for name, users in shown.items()
        for user in users
        if user in shown.get(now["accounts"][name]["parent"], ())
    }
    moving = {name for name in goals if _moves(name, now, wanted)}
    # skip users who only inherit; for others, one command deletes the coordinator from accounts below, too
    gone = {
        user: names
        for user, names in gone.items()
        if any((name, user) not in inherited or name in moving for name in names)
    }
    # a coordinator whom a moving account may only inherit is first added to it, so that the deletion succeeds
    sure = [
        _add(name, user)
        for user, names in sorted(gone.items())
        for name in names
        if name in moving and (name, user) in inherited
    ]
    takes = [
        step(
            ("delete", "coordinator", "where", f"account={','.join(names)}", "name={}"),
            user, (), f"coordinator {user}",
            Aspect(ABSENT, f"coordinator of {', '.join(names)}", note=f"removed from {', '.join(names)}"),
        )
        for user, names in sorted(gone.items())
    ]  # fmt: skip
    adds = [
        _add(name, user)
        for name, goal in goals.items()
        for user in sorted(goal)
        if user not in shown.get(name, ()) or ((name, user) in inherited and (user in gone or name in moving))
    ]
    return [*joined(sure), *joined(takes), *joined(adds)]


def _add(name: str, user: str) -> Step:
    command = ("add", "coordinator", f"account={name}", "names={}")
    return step(command, user, (), f"coordinator {user}", Aspect(f"of {name}"))


def _moves(name: str, now: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether the account or one of its parents gets another parent, so that it may lose coordinators."""
    while name in now["accounts"] and name in wanted["accounts"]:
        parent = wanted["accounts"][name]["parent"]
        if parent != now["accounts"][name]["parent"]:
            return True
        name = parent
    return False
