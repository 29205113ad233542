"""The site's own files on nodes."""

from pydantic import Field

from gpupool.cluster.schema.base import Mode, Name, Nodes, PlainPath, SourcedEntry, Word


class SiteFile(SourcedEntry):
    """A file of the site: from the folder `files` beside the inventory's YAML to nodes."""

    source: Word = Field(description="Name of the file in the inventory's folder `files`.")
    path: PlainPath = Field(description="Path on nodes, below /etc, /opt or /usr/local; owned by root.")
    where: Nodes
    mode: Mode = Field("0644", description="Mode, four digits in quotes: only root may write.")
    reload: Name | None = Field(
        None, description="The service that is reloaded after a change, if it runs; default: none."
    )

    @property
    def unit(self) -> str | None:
        """The full name of the service to reload."""
        return f"{self.reload.removesuffix('.service')}.service" if self.reload else None
