"""A site's own promises, read from the folder `rehearsal` of its inventory and checked."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path as FilePath

from pydantic import BaseModel, ValidationError

from gpupool.cluster.complaints import BadInventoryError, Complaint, Located, Path, Place, locate
from gpupool.cluster.model import Cluster
from gpupool.cluster.near import misspelt
from gpupool.cluster.text import files_of, read
from gpupool.rehearsal.scenarios.data import Expect, Pending, Scenario, Step, Submit


def scenarios(inventory: FilePath, cluster: Cluster | None) -> list[Scenario]:
    """Return the scenarios in INVENTORY/rehearsal/*.yml; BadInventoryError with every complaint about them.

    Without a Cluster, because the inventory has errors itself, there are no complaints about users.
    """
    folder = inventory / "rehearsal"
    files = files_of(folder) if folder.is_dir() else []
    valid: list[Scenario] = []
    located: list[Located] = []
    taken: dict[str, FilePath] = {}
    for file in files:
        text = read(file)
        located += text.located
        if text.located:
            continue
        try:
            scenario = Scenario.model_validate(text.data)
        except ValidationError as error:
            complaints = list(_complaints(error))
        else:
            complaints = list(_unknown(scenario, cluster.users if cluster else None))
            if scenario.name in taken:
                message = f"{scenario.name} is also the name of {taken[scenario.name]}"
                complaints.append(Complaint(("name",), message))
            taken[scenario.name] = file
            valid.append(scenario)
        located += locate(complaints, text.places, Place(str(file), 1))
    if located:
        raise BadInventoryError(located)
    return valid


def _unknown(scenario: Scenario, users: Collection[str] | None) -> Iterator[Complaint]:
    """Yield complaints about users who are not in the inventory, and about names that no earlier step defines."""
    named: set[str] = set()
    submitted = False
    for index, step in enumerate(scenario.steps):
        here: Path = ("steps", index)
        if step.submit:
            submitted = True
            if users is not None and step.submit.user not in users:
                message = f"there is no user {step.submit.user}"
                yield Complaint((*here, "submit", "user"), message, _near(step.submit.user, users))
            if step.submit.name:
                named.add(step.submit.name)
        if step.expect and not submitted:
            yield Complaint((*here, "expect"), "no earlier step submits jobs")
        for key, name in (("of", step.expect.of if step.expect else None), ("", step.cancel)):
            if name is not None and name not in named:
                path = (*here, "expect", key) if key else (*here, "cancel")
                yield Complaint(path, f"no earlier step submits jobs named {name}", _near(name, named))


def _complaints(error: ValidationError) -> Iterator[Complaint]:
    for item in error.errors(include_url=False):
        path: Path = item["loc"]
        if item["type"] == "extra_forbidden":
            yield Complaint(path, "unknown key", _near(str(path[-1]), _keys(path[:-1])))
        elif item["type"] == "missing":
            yield Complaint(path, "is missing")
        elif item["type"] == "value_error":
            yield Complaint(path, str(item["ctx"]["error"]))
        else:
            yield Complaint(path, item["msg"][:1].lower() + item["msg"][1:])


def _keys(path: Path) -> Iterator[str]:
    models: dict[str, type[BaseModel]] = {"submit": Submit, "expect": Expect, "pending": Pending}
    keys = [step for step in path if isinstance(step, str)]
    model = models.get(keys[-1], Step) if keys else Scenario
    yield from model.model_fields


def _near(word: str, known: Iterable[str]) -> str | None:
    near = misspelt(word, known)
    return f"did you mean {near[0]}?" if near else None
