"""What images of virtual machines are made by: QEMU's own, and Debian with a kernel and ZFS's modules for it."""

from collections.abc import Iterable, Mapping

from gpupool.shell import shell_file, values
from gpupool.testbed import recipe

# Always this suite's, whatever the nodes are: bookworm's QEMU 7.2 crashes guests that it emulates.
QEMU_SUITE = "trixie"
QEMU_PACKAGES = ("e2fsprogs", "iproute2", "libarchive13t64", "qemu-system-x86", "qemu-utils", "seabios", "socat")

# The kernel has no initrd here: what its root needs is built in. tiny-initramfs is only there to satisfy it.
KERNEL_PACKAGES = (
    "linux-headers-cloud-amd64",
    "linux-image-cloud-amd64",
    "tiny-initramfs",
    "udev",
    "xz-utils",
    "zfs-dkms",
    "zstd",
)

# They do nothing for a node, and each costs an emulated machine seconds.
MASKED_UNITS = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dev-hugepages.mount",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "ldconfig.service",
    "modprobe@.service",
    "proc-sys-fs-binfmt_misc.automount",
    "serial-getty@ttyS0.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-networkd-persistent-storage.service",
    "systemd-pcrphase.service",
    "systemd-udev-load-credentials.service",
    "user@.service",
)

# ZFS is in contrib, which Debian's own image leaves out; an image that we made has it.
CONTRIB = """\
[ ! -e /etc/apt/sources.list.d/debian.sources ] ||
  sed -i 's/^Components: main$/Components: main contrib/' /etc/apt/sources.list.d/debian.sources
"""

#: Modules of the kernel without debug information and types for BPF, which are a quarter of their build. MAKEFLAGS are
#: no good: ./configure, whose tests are modules, too, clears them.
MAKE_FLAGS = "GNUMAKEFLAGS='CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-g0'"
#: Modules are packed in little time: what is packed here is unpacked at once.
PACK_QUICKLY = "mkdir -p /etc/dkms/framework.conf.d; echo 'compress_xz_opts=-0' > /etc/dkms/framework.conf.d/quick.conf"
#: Stands for a compiler of the kernel: with it the modules take half the time.
COMPILER = "#!/bin/sh\n" + shell_file(__package__, "recipe_compiler.sh")
# built when the compiler's name is known, and not by the installation
_LATER = "touch /etc/dkms/no-autoinstall"
_BUILD = f"export {MAKE_FLAGS}\n{PACK_QUICKLY}; {_LATER}\n"

_KERNEL = values(compiler=COMPILER) + shell_file(__package__, "recipe_kernel.sh")

_BASE = shell_file(__package__, "recipe_base.sh")

_UPDATED = "touch /etc/.updated /var/.updated\n"


def qemu(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that makes plain Debian the place where machines run and their disks are made."""
    return recipe.trust(certificates) + recipe.install(exports, QEMU_PACKAGES)


def kernel(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that gives plain Debian a kernel and builds ZFS's modules for it: what takes minutes."""
    return recipe.trust(certificates) + _BUILD + recipe.install(exports, KERNEL_PACKAGES) + _KERNEL


def base(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that makes Debian with a kernel a machine that one can log in to."""
    late = "update-ca-certificates >/dev/null 2>&1\n" if certificates else ""
    return (
        recipe.install(exports, recipe.BASE_PACKAGES)
        + late
        + recipe.mask(MASKED_UNITS)
        + _BASE
        + recipe.tidy()
        + _UPDATED
    )


def layer(exports: Mapping[str, str], packages: Iterable[str]) -> str:
    """Return the shell text that puts packages on top of the base, without starting any of them."""
    return recipe.install(exports, packages) + recipe.tidy() + _UPDATED
