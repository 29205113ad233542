"""Names of GPU models: an inventory says Tesla V100, nvidia-smi Tesla V100-SXM2-32GB, and both are the same model."""

import re
from functools import cache

from gpupool.nvidia.tables import Architecture, architectures, read

_BRANDS = {"nvidia", "tesla", "quadro", "geforce", "gtx"}
_EDITIONS = {"generation", "blackwell", "server", "workstation", "edition", "max", "q", "pascal", "maxwell"}
_FORM = re.compile(r"pcie?|sxm\d?|nvl|hbm\d?e?|\d+gb?")  # words after the model: form factor and memory
_KEPLER_FORMS = "c|m|s|st|t"  # Tesla K40m is a K40 for servers, K40c one for workstations
_KEPLER = re.compile(rf"(k\d0)(?:{_KEPLER_FORMS})")
_KEPLER_MODEL = re.compile(r"k\d0")


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[a-z0-9]+", name.lower()) if word != "nvidia")


def words(name: str) -> str:
    """Return a reported name in the form that `pattern` matches."""
    return " ".join(_tokens(name))


def _model(name: str) -> tuple[str, ...]:
    """Return the words of a name that identify the model, without brand, edition, form and memory."""
    left = [word for word in _tokens(name) if word not in _BRANDS | _EDITIONS and not _FORM.fullmatch(word)]
    return tuple(match[1] if (match := _KEPLER.fullmatch(word)) else word for word in left)


@cache
def _listed() -> list[tuple[str, str]]:
    rows = read("models")["models"]
    return [(name, capability) for capability, row in rows.items() for name in row["names"]]


def models() -> list[str]:
    """Return all model names of the table."""
    return [name for name, _ in _listed()]


@cache
def of_model(name: str) -> tuple[Architecture, ...]:
    """Return the architectures that a model may have; none if it is not in the table.

    The name Titan X alone is two models, of Maxwell and of Pascal: the caller must support both.
    """
    capabilities = [known for listed, known in _listed() if _tokens(listed) == _tokens(name)]
    capabilities = capabilities or [known for listed, known in _listed() if _model(listed) == _model(name)]
    return tuple(architectures()[known] for known in dict.fromkeys(capabilities))


@cache
def pattern(declared: str) -> str:
    """Return the regular expression of the names that GPUs of a model report, in lower case, words only.

    Details in the inventory, such as 80GB or SXM4, must be in the reported name.
    """
    forms = "".join(rf"(?=.*\b{word}\b)" for word in _tokens(declared) if _FORM.fullmatch(word))
    ours = {each.capability for each in of_model(declared)}
    others = [
        words(name)
        for name, _ in _listed()
        if ours and _model(name) == _model(declared) and not ours & {each.capability for each in of_model(name)}
    ]
    strangers = f"(?!(?:{'|'.join(others)})$)" if others else ""
    beside = f"(?:{'|'.join(sorted(_BRANDS | _EDITIONS))}|{_FORM.pattern})"
    patterns = [f"{word}(?:{_KEPLER_FORMS})?" if _KEPLER_MODEL.fullmatch(word) else word for word in _model(declared)]
    return f"{forms}{strangers}(?:{beside} )*{f'(?: {beside})* '.join(patterns)}(?: {beside})*"
