"""Convert plain data to a typed Inventory; data that does not fit the schema becomes complaints."""

import copy
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.guessed import hint
from gpupool.cluster.near import misspelt
from gpupool.cluster.own_hardware import counts_itself, with_own_hardware
from gpupool.cluster.quote import quoted
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.base import in_words

_MOUNT_ON = "@head,@compute"


def validated(data: dict[str, Any]) -> tuple[Inventory | None, list[Complaint]]:
    """Return the Inventory, or None and every complaint about its shape."""
    try:
        return _whole(Inventory.model_validate(data)), []
    except ValidationError as error:
        return None, list(_complaints(error, data))


def _whole(inventory: Inventory) -> Inventory:
    """Return the inventory with defaults that depend on other entries.

    An only partition is the default one; if there is one entry of hardware, compute nodes without CPUs get that. Heads
    and compute nodes mount exports. Keys of hardware that a node has become an entry of `hardware`.
    """
    storage = inventory.storage
    if "mount_on" not in storage.model_fields_set and (storage.exports or storage.links or storage.spaces):
        own_storage = storage.model_copy(update={"mount_on": _MOUNT_ON})
        inventory = inventory.model_copy(update={"storage": own_storage})
    partitions, scheduler = inventory.partitions, inventory.scheduler
    if len(partitions) == 1 and not partitions[0].for_each and "default_partition" not in scheduler.model_fields_set:
        own = scheduler.model_copy(update={"default_partition": partitions[0].name})
        inventory = inventory.model_copy(update={"scheduler": own})
    return with_own_hardware(_with_only_hardware(inventory))


def _with_only_hardware(inventory: Inventory) -> Inventory:
    if len(inventory.hardware) != 1 or all(node.hardware for node in inventory.nodes):
        return inventory
    (only,) = inventory.hardware
    nodes = tuple(
        node.model_copy(update={"hardware": only})
        if "compute" in node.roles and not node.hardware and not counts_itself(node)
        else node
        for node in inventory.nodes
    )
    return inventory.model_copy(update={"nodes": nodes})


def without(data: dict[str, Any], paths: list[Path]) -> dict[str, Any]:
    """Return the data without the keys at these paths; items of lists stay, so that indexes do not change."""
    left: dict[str, Any] = copy.deepcopy(data)
    for path in paths:
        here: Any = left
        for step in path[:-1]:
            here = here[step] if _exists((step,), here) else None
        if isinstance(here, dict) and path:
            here.pop(path[-1], None)
    return left


def _complaints(error: ValidationError, data: dict[str, Any]) -> Iterator[Complaint]:
    reported: set[Path] = set()
    items = error.errors(include_url=False, include_context=True)
    around = {item["loc"][:length] for item in items for length in range(len(item["loc"]))}
    for item in items:
        if item["type"] == "too_short" and item["loc"] in around:
            continue  # not empty: its items are invalid, about which other complaints exist
        path = tuple(step for step in item["loc"] if step != "[key]")
        # Pydantic reports each type of a union; one complaint per path is enough.
        while path and not _exists(path, data) and item["type"] != "missing":
            path = path[:-1]
        if path in reported:
            continue
        reported.add(path)
        yield _complaint(item["type"], path, item)


def _exists(path: Path, data: Any) -> bool:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _complaint(kind: str, path: Path, item: Any) -> Complaint:
    value, context = item["input"], item.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return Complaint(path, "unknown key", hint(path))
        case "missing":
            return Complaint(path, "is missing", missing=True)
        case "literal_error":
            near = misspelt(str(value), _expected(context))
            message = f"{quoted(value)} is not one of {context['expected'].replace(' or ', ', ')}"
            return Complaint(path, message, f"did you mean {near[0]}?" if near else None)
        case "value_error":
            return Complaint(path, str(context["error"]))
        case "string_type":
            quotes = "put it in quotes" if isinstance(value, int | float) else None
            return Complaint(path, f"must be a string, not {quoted(value)}", quotes)
        case "int_type" | "int_parsing" | "float_type" | "finite_number":
            return Complaint(path, f"must be a number, not {quoted(value)}")
        case "greater_than_equal":
            return Complaint(path, f"must be at least {context['ge']}, not {quoted(value)}")
        case "less_than_equal":
            return Complaint(path, f"must be at most {context['le']}, not {quoted(value)}")
        case "bool_type":
            return Complaint(path, f"must be true or false, not {quoted(value)}")
        case "tuple_type":
            return Complaint(path, f"must be a list, not {quoted(value)}", "write [item], or one `- ` line per item")
        case "dict_type" | "model_type" | "model_attributes_type":
            return Complaint(path, f"must be a mapping of keys, not {quoted(value)}")
        case "too_short" | "string_too_short":
            return Complaint(path, "must not be empty")
        case "string_pattern_mismatch":
            return Complaint(path, f"{quoted(value)}: {in_words(str(context['pattern']), str(value))}")
        case _:
            return Complaint(path, str(item["msg"][0]).lower() + str(item["msg"][1:]))


def _expected(context: dict[str, Any]) -> list[str]:
    return [word.strip("' ") for word in context["expected"].replace(" or ", ", ").split(",")]
