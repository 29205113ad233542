"""Check the settings of Singularity, and of images that nodes keep."""

from collections.abc import Collection, Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.places import export_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.system_paths import is_the_systems
from gpupool.cluster.schema.base import filled

_SINGULARITY: Path = ("software", "singularity")


def ensure_singularity_is_available(site: Site) -> Iterator[Complaint]:
    """Debian's stable releases have no apptainer, so a repository or the address of the package must be set."""
    software = site.inventory.software
    singularity = software.singularity
    if singularity is None or not singularity.enabled:
        return
    if singularity.repository and singularity.package:
        yield Complaint((*_SINGULARITY, "package"), "has no effect beside repository", "remove one", "warning")
    elif not singularity.repository and not singularity.package:
        yield from _not_shipped(site, site.nodes_of(singularity.where))
    if singularity.repository and singularity.repository not in software.repositories:
        message = f"there is no repository {singularity.repository!r} in software.repositories"
        yield Complaint((*_SINGULARITY, "repository"), message)


def _not_shipped(site: Site, wanted: Collection[str]) -> Iterator[Complaint]:
    hint = "set package: {url, sha256}, or repository: a key of software.repositories"
    for release, nodes in site.systems:
        if "singularity" in release.without and any(node.name in wanted for node in nodes):
            yield Complaint(_SINGULARITY, f"{release} has no package {' '.join(release.packages['singularity'])}", hint)


def ensure_singularity_has_scratch_of_the_node(site: Site) -> Iterator[Complaint]:
    """Cache and temporary files of builds are many and short-lived, so they belong on local disks."""
    singularity = site.inventory.software.singularity
    if singularity is None or not singularity.enabled or singularity.scratch is None:
        return
    path = (*_SINGULARITY, "scratch")
    if "{user}" not in singularity.scratch and "{id}" not in singularity.scratch:
        yield Complaint(path, f"{singularity.scratch} is the same for all users", "end it with /{user}")
    elif export := export_of(site, filled(singularity.scratch)):
        message = f"{singularity.scratch} is on the export {export}, so all nodes would share one cache"
        yield Complaint(path, message, "choose a directory of storage.local", "warning")


def ensure_images_have_a_place(site: Site) -> Iterator[Complaint]:
    """An image for Singularity is a file that root can write; one for Docker is not a file; nodes have the runtime."""
    software = site.inventory.software
    files: dict[str, int] = {}
    for index, image in enumerate(software.images):
        path: Path = ("software", "images", index)
        runtime = software.docker if image.runtime == "docker" else software.singularity
        if runtime is None or not runtime.enabled:
            yield Complaint((*path, "runtime"), f"software.{image.runtime} is not enabled: no node could use it")
        elif without := sorted(site.nodes_of(image.where) - site.nodes_of(runtime.where)):
            yield Complaint((*path, "where"), f"{without[0]} has no {image.runtime}")
        if image.runtime == "docker":
            if image.at:
                yield Complaint((*path, "at"), "an image for docker is not a file", "remove it")
            if "://" in image.source:
                yield Complaint((*path, "source"), "docker takes a name without a scheme", "remove docker://")
            continue
        if image.at is None:
            yield Complaint(path, "an image for singularity needs a file", "set at: /path/to/NAME.sif")
            continue
        if "://" not in image.source:
            hint = f"write docker://{image.source}"
            yield Complaint((*path, "source"), "singularity needs the kind of the source", hint)
        if image.at in files:
            yield Complaint((*path, "at"), f"images[{files[image.at]}] has the same file", "rename one")
        files.setdefault(image.at, index)
        yield from _writable(site, path, image.at)


def _writable(site: Site, path: Path, at: str) -> Iterator[Complaint]:
    if is_the_systems(at):
        yield Complaint((*path, "at"), f"{at} belongs to the operating system", "choose another directory")
    key = export_of(site, at)
    export = site.inventory.storage.exports[key] if key else None
    if export and not export.takes_root:
        message = f"{at} is on the export {key}, where root of other nodes may not write"
        yield Complaint((*path, "at"), message, f"set storage.exports.{key}.squash: none, or use a disk of the nodes")
