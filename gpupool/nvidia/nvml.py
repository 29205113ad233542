"""Names that slurmd gets from NVML. A type of gres.conf must be a part of the name, or its GPUs are not found."""

import re

from gpupool.nvidia.names import pattern, words
from gpupool.nvidia.tables import read


def reported(model: str, profile: str = "") -> list[str]:
    """Return the names that GPUs of a model may have in Slurm, or its slices of a profile; none if it is not known.

    Slurm's gpu_nvml.c writes them in lower case with _ for blanks, and those of slices as the name of the GPU up to its
    first -, then the profile.
    """
    alike = re.compile(pattern(model))
    rows = read("nvml")["names"].values()
    known = [name for row in rows for name in row["names"] if alike.fullmatch(words(name))]
    names = [name.lower().replace(" ", "_") for name in known]
    if profile:
        names = [f"{name.partition('-')[0]}_{profile}" for name in names]
    return list(dict.fromkeys(names))
