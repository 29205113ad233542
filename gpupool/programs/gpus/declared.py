"""Compare the GPUs of a node with the declared ones."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence


def differences(
    declared: Mapping[str, int], models: Mapping[str, Sequence[str]], reported: Sequence[str]
) -> Iterator[str]:
    """Yield a short text for GPUs of each type that are missing, surplus, or not declared.

    `declared` is the number of GPUs by type, `models` has the patterns of each type (`gpupool.nvidia.names.pattern`),
    `reported` are the product names that the GPUs report.
    """
    seen: Counter[str] = Counter()
    strange: Counter[str] = Counter()
    for name in reported:
        fitting = [gpu for gpu in declared if any(is_model(name, each) for each in models.get(gpu, ()))]
        # a GPU that fits two types counts for the type that is not complete yet
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


def is_model(reported: str, pattern: str) -> bool:
    """Return whether a GPU that reports this product name fits the pattern of a model."""
    words = re.findall(r"[a-z0-9]+", reported.lower())
    return bool(re.fullmatch(pattern, " ".join(word for word in words if word != "nvidia")))
