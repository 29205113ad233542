"""Images for virtual machines: QEMU, Debian with a kernel, and a disk made from each image of Debian."""

import subprocess
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from gpupool.errors import TestbedError
from gpupool.shell import shell_file
from gpupool.testbed import docker, image, recipe
from gpupool.testbed.image import Line, Tell
from gpupool.testbed.vm import recipe as vm_recipe

QEMU = Line("gpupool/qemu", "image of QEMU", vm_recipe.qemu, vm_recipe.layer)
# A separate line, so that a change to the base image does not build the modules again.
KERNEL = Line(
    "gpupool/kernel", "kernel and ZFS's modules, some minutes", vm_recipe.kernel, vm_recipe.layer, vm_recipe.CONTRIB
)
MACHINES = Line("gpupool/vm", "base image of machines", vm_recipe.base, vm_recipe.layer, on=KERNEL)

DISKS = "gpupool-vm-disks"  # the volume with the disks
AT = "/disks"
DISK_SIZE = "16G"  # of the root file system; the file is sparse

_MAKE = shell_file(__package__, "image.sh")


@dataclass(frozen=True)
class Images:
    """The images for the machines of a testbed: QEMU's, and each node's image and disk (a folder in DISKS)."""

    qemu: str
    tags: dict[frozenset[str], str]
    disks: dict[frozenset[str], str]


def ensure(suite: str, sets: Collection[frozenset[str]], tell: Tell) -> Images:
    """Return images and disks for each set of packages; build missing ones."""
    qemu = image.ensure(vm_recipe.QEMU_SUITE, [frozenset()], tell, QEMU)[frozenset()]
    tags = image.ensure(suite, sets, tell, MACHINES)
    return Images(qemu, tags, {packages: _ensure_disk(tag, qemu, tell) for packages, tag in tags.items()})


def _ensure_disk(tag: str, qemu: str, tell: Tell) -> str:
    # The image's id instead of its name: an image rebuilt with another kernel needs another disk.
    identity = docker.run(["image", "inspect", "--format", "{{.Id}}", tag]).strip()
    key = recipe.key(identity, _MAKE, DISK_SIZE)
    with image.only_builder(f"disk-{key}"):
        if docker.attempt(_inside(qemu, f"test -s {AT}/{key}/vmlinux")).returncode:
            tell(f"disk of {tag}")
            _make_disk(tag, key, qemu)
    return key


def _make_disk(tag: str, key: str, qemu: str) -> None:
    """Write an image's tree into a file system: `docker export` writes it to a pipe, mke2fs reads the pipe."""
    name = image.build_name(f"disk-{key}")
    docker.attempt(["rm", "--force", name])  # left by a command that was killed
    docker.run(["create", "--name", name, "--label", f"{image.BUILD_LABEL}=disk-{key}", tag, "true"])
    try:
        make = _inside(qemu, _MAKE, AT, key, DISK_SIZE)
        with (
            subprocess.Popen(["docker", "export", name], stdout=subprocess.PIPE, start_new_session=True) as tree,
            subprocess.Popen(
                ["docker", *make], stdin=tree.stdout, stderr=subprocess.PIPE, text=True, start_new_session=True
            ) as disk,
        ):
            if tree.stdout:
                tree.stdout.close()
            try:
                errors = disk.communicate(timeout=image.BUILD_SECONDS)[1]
            except BaseException:
                for process in (tree, disk):
                    with suppress(ProcessLookupError):
                        process.kill()
                raise
        if tree.returncode or disk.returncode:
            lines = [line for line in errors.splitlines() if line.strip()] or ["no reason given"]
            raise TestbedError(f"cannot create a disk from {tag}: {lines[-1].strip()}")
    finally:
        docker.attempt(["rm", "--force", name])


def _inside(qemu: str, text: str, *arguments: str) -> list[str]:
    disks = ("--volume", f"{DISKS}:{AT}")
    return ["run", "--rm", "--interactive", "--network", "none", *disks, qemu, "sh", "-c", text, "sh", *arguments]
