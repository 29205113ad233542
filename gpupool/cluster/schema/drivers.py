"""The GPU driver of nodes."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import CudaVersion, Name, Nodes, SourcedEntry, spelt

DriverBranch = Annotated[str, spelt(r"^[0-9]{3}$", 'a branch has three digits, in quotes: "550"')]


class DriverChoice(SourcedEntry):
    """Version and source of the GPU driver of nodes."""

    driver_branch: DriverBranch | None = Field(None, description="Such as 550; default: the distribution's.")
    module: Literal["open", "proprietary"] | None = Field(
        None, description="NVIDIA's open kernel module, for Turing and later GPUs; default: proprietary."
    )
    repository: Name | None = Field(None, description="Key of software.repositories; default: the distribution.")
    version: (
        Annotated[str, spelt(r"^[0-9][A-Za-z0-9.+~]*(-[A-Za-z0-9.+~]+)?$", "a version is such as 550.163.01-2")] | None
    ) = Field(
        None, description="Exact version of the packages, such as 550.163.01-2; default: the newest of the branch."
    )
    cuda: CudaVersion | None = Field(
        None, description="The CUDA version that users need; default: the newest that the driver supports."
    )


class DriverOverride(DriverChoice):
    """Nodes whose driver differs; keys that are not set are taken from software.cuda."""

    where: Nodes


class Cuda(DriverChoice):
    """The GPU driver."""

    where: Nodes
    overrides: tuple[DriverOverride, ...] = Field((), description="Nodes with another driver, each in one entry.")
