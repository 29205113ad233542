"""The recipes of images for virtual machines: QEMU's, and Debian with a kernel and ZFS's modules."""

from collections.abc import Iterable, Mapping

from gpupool.shell import shell_file, values
from gpupool.testbed import recipe

# QEMU is of this suite, whichever suite the nodes have: bookworm's QEMU 7.2 crashes guests that it emulates.
QEMU_SUITE = "trixie"
QEMU_PACKAGES = ("e2fsprogs", "iproute2", "libarchive13t64", "qemu-system-x86", "qemu-utils", "seabios", "socat")

# The drivers for the root file system are built in, so tiny-initramfs only satisfies the kernel's dependency.
KERNEL_PACKAGES = (
    "linux-headers-cloud-amd64",
    "linux-image-cloud-amd64",
    "tiny-initramfs",
    "udev",
    "xz-utils",
    "zfs-dkms",
    "zstd",
)

# Useless for a node, and each costs an emulated machine seconds.
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

# ZFS is in contrib, which the registry's Debian image leaves out; an image of ours has it.
CONTRIB = """\
[ ! -e /etc/apt/sources.list.d/debian.sources ] ||
  sed -i 's/^Components: main$/Components: main contrib/' /etc/apt/sources.list.d/debian.sources
"""

#: Without debug information and BPF types, modules are built in a quarter of the time. These are GNUMAKEFLAGS, because
#: ./configure, which builds modules as tests, clears MAKEFLAGS.
MAKE_FLAGS = "GNUMAKEFLAGS='CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-g0'"
#: Compress modules quickly, because they are unpacked immediately.
PACK_QUICKLY = "mkdir -p /etc/dkms/framework.conf.d; echo 'compress_xz_opts=-0' > /etc/dkms/framework.conf.d/quick.conf"
#: A wrapper of the kernel's compiler, with which the modules take half the time.
COMPILER = "#!/bin/sh\n" + shell_file(__package__, "recipe_compiler.sh")
# the package's installation builds no modules: recipe_kernel.sh does, when the compiler's name is known
_LATER = "touch /etc/dkms/no-autoinstall"
_BUILD = f"export {MAKE_FLAGS}\n{PACK_QUICKLY}; {_LATER}\n"

_KERNEL = values(compiler=COMPILER) + shell_file(__package__, "recipe_kernel.sh")

_BASE = shell_file(__package__, "recipe_base.sh")

_UPDATED = "touch /etc/.updated /var/.updated\n"


def qemu(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that turns plain Debian into the image that runs machines and makes their disks."""
    return recipe.trust(certificates) + recipe.install(exports, QEMU_PACKAGES)


def kernel(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that installs a kernel in plain Debian and builds ZFS's modules, which takes minutes."""
    return recipe.trust(certificates) + _BUILD + recipe.install(exports, KERNEL_PACKAGES) + _KERNEL


def base(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that turns Debian with a kernel into a machine with SSH."""
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
    """Return the shell text that installs packages on the base image, without starting any of them."""
    return recipe.install(exports, packages) + recipe.tidy() + _UPDATED
