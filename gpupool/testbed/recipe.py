"""The recipes of node images: shell text that runs in a container, which then becomes the image."""

import hashlib
import shlex
from collections.abc import Collection, Iterable, Mapping
from importlib import resources

from gpupool.distributions.slurm import schedmd
from gpupool.shell import shell_file, values

# The packages of any Debian machine with SSH; roles install the others.
BASE_PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "iputils-ping",
    "kmod",
    "less",
    "libpam-systemd",
    "mount",
    "netbase",
    "openssh-server",
    "procps",
    "python3-minimal",
    "systemd-sysv",
    "tzdata",
)

# Useless in a container: they slow down its start, fail, or access the machine under it.
MASKED_UNITS = (
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty-static.service",
    "getty.target",
    "ldconfig.service",
    "modprobe@.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-journald-audit.socket",
    "systemd-modules-load.service",
    "systemd-networkd-wait-online.service",
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-pcrphase.service",
    "systemd-remount-fs.service",
    "systemd-resolved.service",
    "systemd-sysctl.service",
    "systemd-timesyncd.service",
    "systemd-udev-settle.service",
    "systemd-udev-trigger.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udevd.service",
    "systemd-update-done.service",
    "user@0.service",
)

# They run at each boot and daemon-reload, and find nothing in a testbed.
MASKED_GENERATORS = (
    "systemd-debug-generator",
    "systemd-getty-generator",
    "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator",
    "systemd-rc-local-generator",
    "systemd-run-generator",
    "systemd-ssh-generator",
    "systemd-system-update-generator",
    "systemd-tpm2-generator",
)

# Services that fail without configuration; the roles configure and enable them.
UNCONFIGURED_UNITS = (
    "docker.service",
    "docker.socket",
    "munge.service",
    "nfs-blkmap.service",
    "nfs-server.service",
    "rpc-svcgssd.service",
    "sackd.service",
    "slurmctld.service",
    "slurmd.service",
    "slurmdbd.service",
    "slurmrestd.service",
    "zfs-import-cache.service",
    "zfs-import-scan.service",
    "zfs-load-module.service",
    "zfs-mount.service",
    "zfs-share.service",
    "zfs-volume-wait.service",
    "zfs-zed.service",
)

_INSTALL = shell_file(__package__, "recipe_install.sh")

#: Makes SchedMD's packages of Slurm in an image, in a repository that apt knows there.
_SCHEDMD = values(
    folder="/usr/local/share/slurm-smd", revision="1", conflicts=" ".join(schedmd().conflicts)
) + shell_file(__package__, "recipe_schedmd.sh")

_OTHER_SUITE = shell_file(__package__, "recipe_other_suite.sh")

_CHRONY = shell_file(__package__, "recipe_chrony.sh")

_DOCKER = values(
    start=shell_file(__package__, "recipe_docker_start.sh"), hook=shell_file(__package__, "recipe_docker_hook.sh")
) + shell_file(__package__, "recipe_docker.sh")

#: The package of libcloud: an image with it also gets the testbed's cloud.
CLOUD_PACKAGE = "python3-libcloud"

_CLOUD = values(
    driver=resources.files(__package__).joinpath("cloud_driver.py").read_text(encoding="utf-8"),
    switch=resources.files(__package__).joinpath("cloud_switch.py").read_text(encoding="utf-8"),
) + shell_file(__package__, "recipe_cloud.sh")

_TIDY = shell_file(__package__, "recipe_tidy.sh")

_MASK = shell_file(__package__, "recipe_mask.sh")

_BASE = shell_file(__package__, "recipe_base.sh")


def base(exports: Mapping[str, str], certificates: Mapping[str, str]) -> str:
    """Return the shell text that turns plain Debian into a machine with SSH."""
    late = "update-ca-certificates >/dev/null 2>&1\n" if certificates else ""
    return trust(certificates) + install(exports, BASE_PACKAGES) + late + mask(MASKED_UNITS) + _BASE + _CHRONY + tidy()


def layer(exports: Mapping[str, str], packages: Collection[str]) -> str:
    """Return the shell text that installs packages on the base image, without starting or configuring any of them."""
    cloud = _CLOUD if CLOUD_PACKAGE in packages else ""
    return install(exports, packages) + _CHRONY + _DOCKER + cloud + tidy()


def key(*parts: str) -> str:
    """Return the digest of these parts, for an image's name."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def trust(certificates: Mapping[str, str]) -> str:
    """Return the shell text that installs certificate authorities (file name -> text)."""
    lines = "".join(
        f"printf '%s' {shlex.quote(text)} > /usr/local/share/ca-certificates/{shlex.quote(name)}\n"
        for name, text in certificates.items()
    )
    return f"mkdir -p /usr/local/share/ca-certificates\n{lines}" if lines else ""


def mask(units: Iterable[str]) -> str:
    """Return the shell text that masks units and MASKED_GENERATORS, and removes scripts that each login would run."""
    return values(units=" ".join(units), generators=" ".join(MASKED_GENERATORS)) + _MASK


def install(exports: Mapping[str, str], packages: Iterable[str]) -> str:
    """Return the shell text that installs packages and starts nothing; `NAME/SUITE` is a package of another suite.

    SchedMD's packages of Slurm are made from the suite's own first, as no distribution has them.
    """
    lines = "".join(f"export {values(**{variable: value})}" for variable, value in sorted(exports.items()))
    names = sorted(packages)
    own = [name for name in names if "/" not in name]
    others = [name for name in names if "/" in name]
    more = values(others=" ".join(others)) + _OTHER_SUITE if others else ""
    made = _SCHEDMD if not set(schedmd().every).isdisjoint(own) else ""
    return lines + made + values(packages=" ".join(own)) + _INSTALL + more


def tidy() -> str:
    """Return the shell text that disables UNCONFIGURED_UNITS and removes host keys, machine-id and logs."""
    return values(unconfigured=" ".join(UNCONFIGURED_UNITS)) + _TIDY
