"""Installed software of a site."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.base import Name, SourcedEntry, Word
from gpupool.cluster.schema.containers import Docker, Image, Singularity
from gpupool.cluster.schema.drivers import Cuda
from gpupool.cluster.schema.modules import Conda, Modules
from gpupool.cluster.schema.repositories import Repository, RepositoryName
from gpupool.cluster.schema.systems import DEFAULT_SYSTEM, NodeSystem
from gpupool.distributions.tables import Distribution
from gpupool.distributions.tables import distribution as release_of


class Software(SourcedEntry):
    """Installed software."""

    distribution: NodeSystem | None = Field(
        None,
        description=(
            "The distribution of the nodes, by its name or its suite; `hardware` and `nodes` may name another one; "
            "default: debian-13."
        ),
    )
    debian: Literal["bookworm", "trixie", "sid"] | None = Field(
        None, description="The former name of `distribution`.", json_schema_extra={"deprecated": True}
    )
    clock: Literal["systemd-timesyncd", "chrony", "ntpsec"] | None = Field(
        None, description="The package that keeps the nodes' time; default: the distribution's. Its settings are yours."
    )
    packages: dict[Name, tuple[Word, ...]] = Field(
        default_factory=dict,
        description="Debian packages by role, `all` for every node; name=version pins a version.",
    )
    repositories: dict[RepositoryName, Repository] = Field(
        default_factory=dict, description="Repositories besides the distribution's, by name."
    )
    cuda: Cuda | None = Field(None, description="The GPU driver; default: not installed.")
    docker: Docker | None = Field(None, description="Docker on nodes; default: not installed.")
    singularity: Singularity | None = Field(
        None, description="Singularity (Apptainer) on nodes; default: not installed."
    )
    conda: Conda | None = Field(None, description="Conda; default: not set up.")
    modules: Modules | None = Field(None, description="Environment modules (Lmod); default: not installed.")
    images: tuple[Image, ...] = Field((), description="Container images that nodes download.")

    @property
    def system(self) -> Distribution:
        """The distribution of nodes that name none, nor their hardware."""
        return release_of(self.distribution or self.debian or DEFAULT_SYSTEM)
