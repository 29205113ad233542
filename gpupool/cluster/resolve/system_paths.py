"""Which paths belong to the operating system."""

from gpupool.unix import within

# Directories of the system, with everything below them.
_SYSTEMS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc", "/root", "/run"),
    *("/sbin", "/sys", "/tmp", "/usr", "/var"),
)
# Directories of the system in which an inventory may have directories.
_ROOMY = ("/usr/local", "/var/lib", "/var/local", "/var/opt", "/var/spool")
# Directories in these that Debian, its packages and gpupool use.
_TAKEN = (
    *(
        f"/usr/local/{name}"
        for name in ("bin", "etc", "games", "include", "lib", "libexec", "man", "sbin", "share", "src")
    ),
    *(f"/var/lib/{name}" for name in ("apt", "dbus", "dpkg", "gpupool", "munge", "mysql", "nfs", "pam", "polkit-1")),
    *("/var/lib/private", "/var/lib/systemd", "/var/lib/ucf", "/var/spool/cron", "/var/spool/mail"),
    "/var/spool/slurmd",
)
# Top directories with several uses: only a directory below them can have a single use.
_SHARED = ("/home", "/media", "/mnt", "/opt", "/srv")


def is_the_systems(path: str, *, whole: bool = False) -> bool:
    """Return whether a path belongs to the operating system, so that gpupool must not change its owner, mode or files.

    With `whole`, also whether it is a top directory such as /home or /srv, which cannot have one single use.
    """
    if path == "/" or (whole and path in _SHARED) or any(within(path, top) for top in _TAKEN):
        return True
    inside = any(within(path, top) and path != top for top in _ROOMY)
    return not inside and any(within(path, top) for top in _SYSTEMS)
