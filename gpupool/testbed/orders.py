"""Docker's arguments for each node, a container or a virtual machine in a container, and the images for them."""

from dataclasses import dataclass
from pathlib import Path

from gpupool.testbed import container, host, image, vm
from gpupool.testbed.image import Tell
from gpupool.testbed.spec import Container, Spec
from gpupool.testbed.vm import image as vm_image


@dataclass(frozen=True)
class Order:
    """A node's image, the digest of its unchangeable properties, and docker's arguments to create it."""

    image: str
    shape: str
    create: list[str]


def shape(spec: Spec, box: Container, folder: Path, public_key: str) -> str:
    """Return the digest of a node's unchangeable properties, whatever it is made of; `folder` is the testbed's."""
    return vm.shape(spec, box, folder, public_key) if box.machine else container.shape(spec, box)


def place(spec: Spec, folder: Path, public_key: str, tell: Tell) -> dict[str, Order]:
    """Return an order for each node, after building missing images; `folder` is the testbed's."""
    servers = host.nameservers()
    made = {}
    boxes = [box for box in spec.containers if not box.machine]
    tags = image.ensure(spec.suite, {frozenset(box.packages) for box in boxes}, tell)
    for box in boxes:
        tag = tags[frozenset(box.packages)]
        create = container.create(
            spec, box, image=tag, cgroups=host.host_cgroups(), nameservers=servers, public_key=public_key
        )
        made[box.name] = Order(tag, shape(spec, box, folder, public_key), create)
    if spec.machines:
        images = vm_image.ensure(spec.suite, {frozenset(box.packages) for box in spec.machines}, tell)
        for box in spec.machines:
            create = vm.create(spec, box, images, folder, nameservers=servers, public_key=public_key)
            made[box.name] = Order(images.tags[frozenset(box.packages)], shape(spec, box, folder, public_key), create)
    return {box.name: made[box.name] for box in spec.containers}
