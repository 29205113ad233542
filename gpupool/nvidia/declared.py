"""What a node's GPUs are against what the inventory says they are."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpupool.nvidia.names import is_model


def differences(
    declared: Mapping[str, int], models: Mapping[str, Sequence[str]], reported: Sequence[str]
) -> Iterator[str]:
    """Return what is missing, more than declared, or of a type that is not declared, a few words each.

    `declared` counts a node's GPUs by type, `models` gives the models of each type, `reported` are the names that the
    GPUs have by themselves.
    """
    seen: Counter[str] = Counter()
    strange: Counter[str] = Counter()
    for name in reported:
        fitting = [gpu for gpu in declared if any(is_model(name, model) for model in models.get(gpu, ()))]
        # what fits two types counts for the one that still lacks some
        gpu = next((each for each in fitting if seen[each] < declared[each]), fitting[0] if fitting else None)
        if gpu is None:
            strange[name] += 1
        else:
            seen[gpu] += 1
    for gpu, count in declared.items():
        if seen[gpu] < count:
            yield f"{count - seen[gpu]} of {count} {gpu} missing"
        elif seen[gpu] > count:
            yield f"{seen[gpu]} {gpu}, but {count} declared"
    for name, count in strange.items():
        yield f"{count} {name}, which is not a declared type"
