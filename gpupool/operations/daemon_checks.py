"""Check new configuration files with the daemon's own check before they are installed; the path decides which check.

Each check merges the new files with the daemon's other files in a temporary folder and fails with the daemon's message.
If the daemon or its check is not installed (yet), the files are accepted. Slurm's check is in `trial`; slurmdbd and
munged have none. Programs of the site are checked by their interpreters.
"""

from collections.abc import Iterable

from gpupool.shell import shell_file, values

_BEGIN = shell_file(__package__, "daemon_checks.sh")

_SSHD = shell_file(__package__, "daemon_checks_sshd.sh")

_UNITS = shell_file(__package__, "daemon_checks_units.sh")

_MARIADB = shell_file(__package__, "daemon_checks_mariadb.sh")

_EXPORTS = shell_file(__package__, "daemon_checks_exports.sh")

_NFT = shell_file(__package__, "daemon_checks_nft.sh")
_NGINX = shell_file(__package__, "daemon_checks_nginx.sh")
_PROGRAMS = shell_file(__package__, "daemon_checks_programs.sh")

#: Directory of the site's programs.
SITE = "/etc/slurm/gpupool/site"

_CHECKS = (
    ("sshd", "/etc/ssh", "/etc/ssh/sshd_config.d/", ".conf", _SSHD),
    ("systemd-analyze", "/etc/systemd/system", "/etc/systemd/system/", "", _UNITS),
    ("mariadbd", "/etc/mysql", "/etc/mysql/", ".cnf", _MARIADB),
    ("exportfs", "/etc/exports.d", "/etc/exports.d/", ".exports", _EXPORTS),
    ("nft", "/etc/gpupool", "/etc/gpupool/", ".nft", _NFT),
    ("nginx", "/etc/nginx", "/etc/nginx/conf.d/", ".conf", _NGINX),
    ("sh", SITE, f"{SITE}/", "", _PROGRAMS),
)


def has_programs(paths: Iterable[str]) -> bool:
    """Return whether there are programs of the site among these files."""
    return any(path.startswith(f"{SITE}/") for path in paths)


def checks(paths: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the commands that must accept these new files, each with the first file that it checks."""
    wanted = list(paths)
    commands = []
    for program, etc, under, ending, text in _CHECKS:
        if own := [path for path in wanted if path.startswith(under) and path.endswith(ending)]:
            commands.append((own[0], command(program, text, etc, own)))
    return commands


def command(program: str, text: str, etc: str, paths: list[str]) -> list[str]:
    """Return the command that checks files of a program; `etc` is the folder of its configuration."""
    return ["sh", "-c", values(program=program) + _BEGIN + text, "check", etc, *paths]
