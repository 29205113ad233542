"""Directories of the operating system, in which no inventory may mount, export or purge."""

import pytest

from gpupool.cluster.resolve.system_paths import is_the_systems


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/bin",
            "/boot",
            "/dev",
            "/etc",
            "/lib",
            "/lib32",
            "/lib64",
            "/libx32",
            "/lost+found",
            "/proc",
            "/root",
            "/run",
            "/sbin",
            "/sys",
        ),
        *("/tmp", "/usr", "/usr/lib", "/usr/share", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool"),
        *("/usr/local", "/usr/local/bin", "/usr/local/etc", "/usr/local/games", "/usr/local/include", "/usr/local/lib"),
        *("/usr/local/libexec", "/usr/local/man", "/usr/local/sbin", "/usr/local/share", "/usr/local/src"),
        *("/var/lib/apt", "/var/lib/dbus", "/var/lib/dpkg", "/var/lib/gpupool", "/var/lib/munge", "/var/lib/mysql"),
        *("/var/lib/nfs", "/var/lib/pam", "/var/lib/polkit-1", "/var/lib/private", "/var/lib/systemd", "/var/lib/ucf"),
        *("/var/spool/cron", "/var/spool/mail", "/var/spool/slurmd"),
    ],
)
def test_directories_of_debian_and_its_packages_belong_to_the_system(path: str) -> None:
    assert is_the_systems(path)


@pytest.mark.parametrize("path", ["/var/spool/cron/crontabs", "/var/lib/dpkg/info", "/usr/local/bin/x", "/etc/x"])
def test_directories_below_them_belong_to_the_system_too(path: str) -> None:
    assert is_the_systems(path)


@pytest.mark.parametrize(
    "path",
    ["/raid", "/etcetera", "/srv/x", "/usr/local/site", "/var/lib/site", "/var/spool/x", "/var/local/x", "/var/opt/x"],
)
def test_other_directories_are_free(path: str) -> None:
    assert not is_the_systems(path, whole=True)


@pytest.mark.parametrize("path", ["/home", "/media", "/mnt", "/opt", "/srv"])
def test_a_top_directory_is_shared_by_several_uses(path: str) -> None:
    assert not is_the_systems(path)
    assert is_the_systems(path, whole=True)
