"""Bare machines of a testbed: apply installs their packages, and only a few are in images."""

from dataclasses import replace

from gpupool.distributions.slurm import schedmd
from gpupool.testbed.spec import Container, Spec


def bare(spec: Spec) -> Spec:
    """Return the testbed without packages of nodes, except packages that only images have."""
    return replace(spec, containers=tuple(replace(box, packages=only_in_images(box)) for box in spec.containers))


def only_in_images(box: Container) -> tuple[str, ...]:
    """Return the packages that only images have: of other suites of Debian, as `NAME/SUITE`, and SchedMD's commands.

    An image with SchedMD's commands of Slurm also has a repository, from which apply installs the other packages.
    """
    made = schedmd().packages["slurm commands"]
    return tuple(package for package in box.packages if "/" in package or package in made)
