"""Docker, Singularity, and the container images that nodes keep."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import Entry, Flag, Name, Nodes, PathOfUser, PlainPath, SourcedEntry, spelt
from gpupool.cluster.units import Duration

#: Prefix length of each network of containers: 256 addresses.
CONTAINER_NETWORK = 24


class DockerPurge(Entry):
    """Ages at which containers and images are removed; a timer `docker-purge` sets nodes and interval."""

    containers_older_than: Duration = Field(description="Since they ended; a running container is never removed.")
    images_older_than: Duration | None = Field(
        None, description="Since their download, if no container uses them; default: images are kept."
    )


class Docker(SourcedEntry):
    """Docker on nodes. Anyone who may use it can become root there."""

    enabled: Flag = Field(True, description="False: planned, not deployed.")
    where: Nodes = "@compute"
    members: Literal["all"] | tuple[Name, ...] = Field(
        "all", description="Who may use it: all users, or a list of users and accounts."
    )
    sudo: Flag = Field(False, description="`sudo docker` works for them without a password, too.")
    gpus: Literal["nv_gpu", "cuda_visible_devices"] = Field(
        "nv_gpu", description="How users get GPUs in containers: by $NV_GPU, or by CUDA_VISIBLE_DEVICES."
    )
    toolkit: Name | None = Field(
        None, description="Key of the repository (software.repositories) with NVIDIA's toolkit; default: no GPUs."
    )
    data_root: PlainPath = Field("/var/lib/docker", description="Directory of images and containers, on a local disk.")
    address_pool: Annotated[str, spelt(r"^[0-9.]+/[0-9]+$", "write a network such as 172.29.0.0/16")] = Field(
        "172.29.0.0/16", description="Addresses of containers; each network gets 256 of them."
    )
    purge: DockerPurge | None = Field(
        None, description="Ages at which containers and images are removed; default: never."
    )


class Download(Entry):
    """A Debian package by its URL."""

    url: Annotated[
        str, spelt(r"^https?://[!-~]+\.deb$", "the address of a package begins with https:// and ends with .deb")
    ] = Field(description="URL of the .deb file.")
    sha256: Annotated[str, spelt(r"^[0-9a-f]{64}$", "a sha256 has 64 digits of 0 to 9 and a to f")] = Field(
        description="SHA-256 of the file, 64 hexadecimal digits."
    )


class Singularity(SourcedEntry):
    """Singularity (Apptainer) on nodes."""

    enabled: Flag = Field(True, description="False: planned, not deployed.")
    where: Nodes = "@compute"
    repository: Name | None = Field(
        None, description="Key of the repository (software.repositories) of apptainer; no other package is used of it."
    )
    package: Download | None = Field(None, description="The package apptainer itself, instead of a repository.")
    fakeroot: Flag = Field(False, description="Users can build images: each gets 65536 subordinate user and group ids.")
    dev: Literal["full", "minimal"] = Field("full", description="minimal: containers see GPUs only with --nv.")
    scratch: PathOfUser | None = Field(
        None, description="Directory of a user's cache and temporary files, on a local disk; default: home and /tmp."
    )


class Image(SourcedEntry):
    """A container image kept on the nodes."""

    source: Annotated[
        str, spelt(r"^([a-z]+://)?[A-Za-z0-9][A-Za-z0-9._:/@-]*$", "an image is such as docker://ubuntu:24.04")
    ] = Field(description="The image, such as docker://ubuntu:24.04.")
    at: PlainPath | None = Field(None, description="Path of the file; only for singularity.")
    runtime: Literal["singularity", "docker"] = Field(
        "singularity", description="The runtime that keeps it: a file for singularity, docker's own storage."
    )
    where: Nodes | None = Field(None, description="Default: all nodes of the runtime.")
