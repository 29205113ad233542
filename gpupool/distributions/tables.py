"""The tables of this folder as frozen data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from gpupool.tables import Version, read, version

#: The purposes for which gpupool installs packages.
Purpose = Literal[
    "base",
    "munge",
    "slurm commands",
    "slurmctld",
    "slurmd",
    "database",
    "slurmdbd",
    "sackd",
    "logins with a job",
    "python",
    "cloud",
    "devices",
    "acl",
    "nfs client",
    "nfs server",
    "zfs",
    "zfs module",
    "kernel headers",
    "sessions",
    "directory",
    "manual",
    "download",
    "modules",
    "web",
    "docker",
    "sudo",
    "gpus in docker",
    "singularity",
    "building images",
    "mounting images",
]
#: The services whose units have other names in other distributions.
Service = Literal["time", "ssh"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
SERVICES: tuple[Service, ...] = get_args(Service)


@dataclass(frozen=True)
class Distribution:
    """A release of a distribution.

    `key` is its row in the tables, also in those of drivers, and `title` its name for people, such as Ubuntu 24.04.
    `name` is the distribution's, such as Debian, `codename` the release's in its archives, and `label` that of both in
    inventories, such as debian-13. `proved`: gpupool is known to have run on it. `os_release` are ID and
    VERSION_CODENAME in the os-release of its nodes. `slurm` is the release of Slurm that it ships; `openssh` and `sssd`
    are the versions of these programs. `packages` has the names of packages by purpose, `by_architecture` other names
    on other processors than x86_64. Packages for the purposes in `without` come from elsewhere. `clocks` are the
    packages that keep the time, with their units. `units` are systemd's units by service, without `.service`. `origin`
    is the field of that name in the distribution's archives, `components` are their components beside main.
    `slurmd_needs_slurm_conf`: the unit of slurmd has the condition that /etc/slurm/slurm.conf exists.
    """

    key: str
    title: str
    name: str
    label: str
    codename: str
    os_release: tuple[str, str]
    slurm: str
    openssh: Version
    sssd: Version
    packages: Mapping[Purpose, tuple[str, ...]]
    clocks: Mapping[str, str]
    units: Mapping[Service, str]
    origin: str
    components: tuple[str, ...]
    without: frozenset[Purpose] = frozenset()
    proved: bool = True
    slurmd_needs_slurm_conf: bool = False
    by_architecture: Mapping[str, Mapping[Purpose, tuple[str, ...]]] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the name for people."""
        return self.title

    def on(self, architecture: str | None) -> "Distribution":
        """Return the same release on an architecture, by the names of `hardware.arch`; None is x86_64."""
        own = self.by_architecture.get(architecture or "")
        return replace(self, packages={**self.packages, **own}) if own else self

    def names(self, *purposes: Purpose) -> set[str]:
        """Return the names of the packages for these purposes."""
        return {name for purpose in purposes for name in self.packages[purpose]}

    @property
    def has_sshd_per_user_pam(self) -> bool:
        """Return whether sshd has PAMServiceName, which selects a PAM stack by user: since OpenSSH 9.8."""
        return self.openssh >= (9, 8)

    @property
    def has_sshd_penalties(self) -> bool:
        """Return whether sshd refuses addresses whose logins fail, for some time: since OpenSSH 9.8."""
        return self.openssh >= (9, 8)

    @property
    def sssd_mode(self) -> str:
        """The mode of sssd.conf: before 2.10, sssd refuses a file that its group can read; since then, it sets 0640."""
        return "0640" if self.sssd >= (2, 10) else "0600"


@cache
def distributions() -> Mapping[str, Distribution]:
    """Return the releases of all tables by key: the name of the suite, or that of a distribution without suites."""
    tables = sorted(Path(__file__).parent.glob("*.yml"))
    return {release.key: release for table in tables for release in _releases(read(table))}


def distribution(name: str) -> Distribution:
    """Return a release by its label or its key; KeyError if no table has it."""
    return _by_name()[name]


def shipping(slurm: str) -> list[str]:
    """Return the keys of the proved releases that ship a release of Slurm."""
    return [key for key, release in distributions().items() if release.slurm == slurm and release.proved]


def with_os_release(system: str, codename: str) -> list[str]:
    """Return the labels of the releases whose nodes have this ID and this VERSION_CODENAME in os-release."""
    return [row.label for row in distributions().values() if row.os_release == (system, codename)]


@cache
def _by_name() -> Mapping[str, Distribution]:
    return {**distributions(), **{release.label: release for release in distributions().values()}}


def _releases(table: Mapping[str, Any]) -> Iterable[Distribution]:
    for key, row in table["releases"].items():
        packages = {**table["packages"], **row.get("packages", {})}
        units = {**table["units"], **row.get("units", {})}
        yield Distribution(
            key,
            row.get("title", f"{table['name']} {key}"),
            row.get("name", table["name"]),
            row["label"],
            row.get("suite", key),
            (table["id"], row.get("codename", key)),
            row["slurm"],
            version(row["openssh"]),
            version(row["sssd"]),
            {purpose: tuple(packages[purpose]) for purpose in PURPOSES},
            table["clocks"],
            {service: units[service] for service in SERVICES},
            table["origin"],
            tuple(table["components"]),
            frozenset(row.get("without", ())),
            not table.get("unproved", False),
            row.get("slurmd_needs_slurm_conf", False),
            {
                architecture: {purpose: tuple(names) for purpose, names in own.items()}
                for architecture, own in table.get("architectures", {}).items()
            },
        )
