"""`gpupool explain`: the effective settings of a node, partition or account, and their lines in the inventory."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.screen import Inventory, Json, With, print_json, stdout
from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.near import misspelt
from gpupool.cluster.quote import listed
from gpupool.documents.inventory import ExplainDocument, ExplainedEntry
from gpupool.errors import UsageError

if TYPE_CHECKING:
    from gpupool.cluster.explain.values import Explained, Value

_MOST = 5  # keys in a hint


def command(
    inventory: Inventory,
    name: Annotated[
        str,
        typer.Argument(
            help="A node, partition, account, user or QoS.",
            metavar="NAME",
            show_default=False,
            autocompletion=complete.node,
        ),
    ],
    key: Annotated[
        str | None, typer.Argument(help="Only this key, such as max_time.", metavar="KEY", show_default=False)
    ] = None,
    change: With = None,
    as_json: Json = False,
) -> None:
    """Show the effective settings of a node, partition, account, user or QoS, with the inventory line that sets each.

    For a user: which accounts, QoS, partitions and nodes are allowed, with their limits, and why others are not.

    Changes: nothing.

    Examples:
      gpupool explain my-site a40-01
      gpupool explain my-site u-vision1
      gpupool explain my-site short max_time
    """
    from gpupool.cluster.explain import explain, names
    from gpupool.cluster.load import examine

    loaded = examine(inventory, change)
    if loaded.cluster is None:
        raise BadInventoryError(loaded.errors)
    known = explain(loaded, name)
    if not known:
        hint = _hint(name, names(loaded)) or _keys(name)
        raise UsageError(f"there is no node, partition, account, user or QoS {name!r}{hint}")
    chosen = [(each, [value for value in each.values if key is None or _is(value, key)]) for each in known]
    if key is not None and not any(values for _, values in chosen):
        keys = [value.key for each in known for value in each.values]
        raise UsageError(f"{name} has no value of {key!r}{_hint(key, keys)}")
    chosen = [(each, values) for each, values in chosen if values]
    if as_json:
        print_json(ExplainDocument(explained=[_as_dict(explained, values) for explained, values in chosen]))
        return
    for explained, values in chosen:
        if key is None:
            stdout.print(f"{explained.what} {explained.name}", style="bold")
        width = max((len(value.key) for value in values), default=0)
        for value in values:
            stdout.print(f"  {value.key:{width}}  {value.value}  ({value.place or 'default'})")


def _is(value: "Value", key: str) -> bool:
    return value.key == key or value.key.startswith(f"{key}.")


def _keys(word: str) -> str:
    """Return a hint with the keys of an inventory that a word may mean."""
    from gpupool.cluster.guessed import keys_for

    keys = keys_for(word)
    return f" (in an inventory, see {listed(keys, _MOST)})" if keys else ""


def _hint(word: str, known: list[str]) -> str:
    near = misspelt(word, known)
    return f" (did you mean {near[0]}?)" if near else ""


def _as_dict(explained: "Explained", values: "list[Value]") -> ExplainedEntry:
    return {
        "what": explained.what,
        "name": explained.name,
        "values": [
            {
                "key": value.key,
                "value": value.value,
                "file": value.place.file if value.place else None,
                "line": value.place.line if value.place else None,
            }
            for value in values
        ],
    }
