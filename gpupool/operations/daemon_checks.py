"""New files of daemons are tried by the daemon's own check before they are put; by their paths, so none is forgotten.

Each check merges the new file with its neighbours as the daemon reads them, in a folder of its own, and says no in the
daemon's words. Where a daemon or its check is not there (yet), the file is accepted. Slurm's is in `trial`; slurmdbd
and munged have none.
"""

from collections.abc import Iterable

# $1 is the daemon's folder; the others are new files in it, which lie there with $GPUPOOL_NEW after their names
_BEGIN = r"""
set -u; umask 077; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C.UTF-8
etc=$1; shift; command -v "$program" >/dev/null || exit 0
dir=$(mktemp -d); trap 'rm -rf -- "$dir"' EXIT
lay() { for path in "$@"; do
  to=$dir/${path#"$etc"/}; mkdir -p -- "${to%/*}"; cp -- "$path$GPUPOOL_NEW" "$to"
done; }
no() { # what: the first line that is about the file; anything else is no reason
  said=$(printf '%s\n' "$said" | grep -m 1 -- "$1") || exit 0
  printf '%s\n' "$said" | sed "s:$dir:$etc:g"; exit 1
}
"""

_SSHD = r"""
cp -R -- "$etc/sshd_config" "$etc/sshd_config.d" "$dir/"; lay "$@"
sed -i -E -e '/^[[:space:]]*Include[[:space:]=]/I{s:'"$etc"'/sshd_config\.d:sshd_config.d:g' \
  -e 's:sshd_config\.d:'"$dir"'/&:g}' "$dir/sshd_config"
# where ssh is started for each connection, or was stopped, its folder may be missing
[ -d /run/sshd ] || mkdir -m 0755 /run/sshd
said=$("$(command -v sshd)" -t -f "$dir/sshd_config" 2>&1) || no . # sshd wants its own full path
"""

_UNITS = r"""
lay "$@"; units=
for path in "$@"; do
  unit=${path#"$etc"/}; unit=${unit%%.d/*}; unit=${unit##*/}
  case $unit in *-.*) unit=${unit%%-.*}-0.${unit##*-.};; *@.*) unit=${unit%%@.*}@0.${unit##*@.};; esac
  units="$units $unit"
done
# programs may come with the same run, and an older systemd may lack a word: what it cannot read is refused
said=$(SYSTEMD_UNIT_PATH="$dir:" systemd-analyze verify --man=no $units 2>&1 | grep -v 'Unknown key\|Unknown lvalue\|Unknown section')
no "^$dir/[^ ]*:[0-9]*: "
"""  # noqa: E501

_MARIADB = r"""
cp -RL -- "$etc/." "$dir/"; mkdir "$dir/data"; lay "$@"
find "$dir" -name '*.cnf' -exec sed -i -E '/^[[:space:]]*!include/s:'"$etc"'/:'"$dir"'/:g' {} +
conf=$dir/mariadb.cnf; [ -f "$conf" ] || conf=$dir/my.cnf
# it reads all settings, prints them and ends; the live data is not its business
said=$(mariadbd --defaults-file="$conf" --datadir="$dir/data" --verbose --help 2>&1 >/dev/null) ||
  { said=$(printf '%s\n' "$said" | sed -nE 's:^.*\[ERROR\] ([^ ]*/)?::p'); no .; }
"""

_EXPORTS = r"""
cp -R -- "$etc" "$dir/exports.d"; for path in "$@"; do cp -- "$path$GPUPOOL_NEW" "$dir/exports.d/${path##*/}"; done
mkdir "$dir/nfs"
# where no client is, and no nfsd: it writes a table that is thrown away
said=$(timeout 20 unshare -m -n sh -c 'mount --bind "$1/exports.d" "$2" && mount --bind "$1/nfs" /var/lib/nfs && exportfs -r' \
  sh "$dir" "$etc" 2>&1) || no "^exportfs: $etc/[^ ]*:[0-9]*: "
"""  # noqa: E501

_CHECKS = (
    ("sshd", "/etc/ssh", "/etc/ssh/sshd_config.d/", ".conf", _SSHD),
    ("systemd-analyze", "/etc/systemd/system", "/etc/systemd/system/", "", _UNITS),
    ("mariadbd", "/etc/mysql", "/etc/mysql/", ".cnf", _MARIADB),
    ("exportfs", "/etc/exports.d", "/etc/exports.d/", ".exports", _EXPORTS),
)


def checks(paths: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the commands that must accept these new files, each with the first of the files that it is about."""
    wanted = list(paths)
    found = []
    for program, etc, under, ending, script in _CHECKS:
        if own := [path for path in wanted if path.startswith(under) and path.endswith(ending)]:
            found.append((own[0], command(program, script, etc, own)))
    return found


def command(program: str, script: str, etc: str, paths: list[str]) -> list[str]:
    """Return the command that tries files of a program, which lie in a folder."""
    return ["sh", "-c", f"program={program}\n{_BEGIN.strip()}\n{script.strip()}", "check", etc, *paths]
