"""Amounts per GPU by type, as slurm.conf and the submit plugin have them."""

from collections.abc import Iterable, Mapping

from gpupool.cluster.schema.scheduling import of_type


def by_type(types: Iterable[str], amounts: Mapping[str, int] | None) -> dict[str, int]:
    """Return the amount of each GPU type; the key `""` has the lowest, for requests without a type.

    If all types have the same, only `""` is there. Empty without amounts.
    """
    each = {gpu: amount for gpu in types if (amount := of_type(amounts, gpu)) is not None}
    values = sorted(set(each.values())) or sorted((amounts or {}).values())
    if not values:
        return {}
    return {"": values[0], **(dict.fromkeys(types, values[0]) | each if len(values) > 1 else {})}
