"""The commands of a machine's container: run QEMU, give the machine the container's address, and switch it off."""

import base64
import ipaddress
import shlex

from gpupool.shell import shell_file, values
from gpupool.testbed.spec import Container, Machine, Spec
from gpupool.testbed.vm.image import AT

STOP_SECONDS = 60
FOLDER = "/var/lib/machine"  # in the container, for files that the machine writes

_SCRIPT = shell_file(__package__, "boot.sh")

_COMMAND_LINE = (
    "root=/dev/nvme0n1 rw console=ttyS0 loglevel=4 systemd.show_status=error panic=5 mitigations=off audit=0"
    " net.ifnames=0 systemd.hostname={host} ip={address}::{gateway}:{mask}:{host}:eth0:none"
)


def script(
    spec: Spec,
    box: Container,
    machine: Machine,
    *,
    disk: str,
    nameservers: tuple[str, ...],
    public_key: str,
    host_key: tuple[str, str],
) -> str:
    """Return the shell text that a machine's container runs each time it starts; `disk` is a folder of images.

    `host_key` is its SSH host key, private and public.
    """
    images = [f"disk-{number}.img" for number in range(1, len(machine.disks) + 1)]
    credentials = _credentials(nameservers, public_key, host_key)
    assignments = values(
        folder=FOLDER,
        patience=str(STOP_SECONDS - 10),
        disk=f"{AT}/{disk}",
        disks=" ".join(f"{image}:{size}" for image, size in zip(images, machine.disks, strict=True)),
        strings=" ".join(credentials),
    )
    arguments = shlex.join(["set", "--", *_arguments(spec, box, machine, images, len(credentials), disk)])
    return f"{assignments}{arguments}\n{_SCRIPT}"


def _arguments(spec: Spec, box: Container, machine: Machine, images: list[str], strings: int, disk: str) -> list[str]:
    host = box.hostname.partition(".")[0]
    append = _COMMAND_LINE.format(
        host=host, address=box.address, gateway=spec.gateway, mask=ipaddress.ip_network(spec.network).netmask
    )
    arguments = ["-name", box.name, "-M", "q35", "-nodefaults", "-no-user-config", "-display", "none"]
    cores = machine.cpus // machine.threads
    arguments += ["-m", str(machine.memory)]
    arguments += ["-smp", f"{machine.cpus},sockets=1,cores={cores},threads={machine.threads}"]
    arguments += ["-kernel", f"{AT}/{disk}/vmlinux", "-append", append, "-rtc", "base=utc"]
    arguments += ["-chardev", "file,id=console,path=/dev/stdout", "-serial", "chardev:console"]
    arguments += ["-monitor", "unix:monitor,server=on,wait=off"]
    # NVMe is built into the kernel, so no initrd is needed. cache=unsafe: QEMU writes data to disk only when it ends.
    arguments += ["-drive", "if=none,id=root,file=root.qcow2,format=qcow2,cache=unsafe,discard=unmap"]
    arguments += ["-device", "nvme,drive=root,serial=root"]
    for number, image in enumerate(images, 1):
        arguments += ["-drive", f"if=none,id=disk{number},file={image},format=raw,cache=unsafe,discard=unmap"]
        arguments += ["-device", f"virtio-blk-pci,drive=disk{number},serial={box.name}-{number}"]
    arguments += ["-netdev", "tap,id=net,ifname=tap0,script=no,downscript=no"]
    arguments += ["-device", f"virtio-net-pci,netdev=net,mac={mac(box.address)},romfile="]
    arguments += ["-device", "virtio-rng-pci"]
    return arguments + [word for number in range(strings) for word in ("-smbios", f"type=11,path=string-{number}")]


def mac(address: str) -> str:
    """Return the MAC address for an IP address of the testbed's network."""
    return "52:54:" + ":".join(f"{part:02x}" for part in ipaddress.IPv4Address(address).packed)


def _credentials(nameservers: tuple[str, ...], public_key: str, host_key: tuple[str, str]) -> list[str]:
    """Return systemd credentials for the machine: authorized key, host key, resolver."""
    private, public = (base64.b64encode(half.encode()).decode() for half in host_key)
    resolv = "".join(f"nameserver {address}\\n" for address in nameservers)
    # Lines of tmpfiles.d: f creates a missing file, and ~ marks base64 contents.
    files = (
        f"f~ /etc/ssh/ssh_host_ed25519_key 0600 root root - {private}\n"
        f"f~ /etc/ssh/ssh_host_ed25519_key.pub 0644 root root - {public}\n"
        "f /etc/hosts 0644 root root - 127.0.0.1 localhost\\n\n"
        f"f /etc/resolv.conf 0644 root root - {resolv}\n"
    )
    wanted = {"ssh.authorized_keys.root": public_key.strip() + "\n", "tmpfiles.extra": files}
    return [
        f"io.systemd.credential.binary:{name}={base64.b64encode(text.encode()).decode()}"
        for name, text in wanted.items()
    ]
