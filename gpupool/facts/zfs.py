"""What ZFS of a node holds: pools with their disks, datasets with their properties, and what lies on disks for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole
from gpupool.facts.zfs_disks import PoolsState, Property, disks_of, pools_of

_HEAD = r"""
PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
tab=$(printf '\t'); line='
'
if ! command -v zpool >/dev/null; then no='zpool is not installed'
elif pools=$(zpool list -H -o name 2>&1); then no=
else no=$(printf '%s' "$pools" | tr '\n\t' '  '); fi
[ -z "$no" ] || printf 'X\t%s\n' "$no"
sed 's/^/Y\t/' /sys/module/zfs/version 2>/dev/null
"""
# A disk is what holds a partition: pools on whole disks make partitions of their own.
_POOLS = (
    _HEAD
    + r"""
tell() { while IFS= read -r words; do printf '%s\t%s\n' "$1" "$words"; done; } # each line after its kind and path
disk_of() {
  real=$(readlink -f -- "$1") || real=$1
  part=/sys/class/block/${real##*/}
  if [ -e "$part/partition" ]; then up=$(readlink -f -- "$part/.."); real=/dev/${up##*/}; fi
  printf '%s' "$real"
}
used=
if [ -z "$no" ] && [ -n "$pools" ]; then
  zpool get -Hp -o name,property,value,source all | sed 's/^/G\t/'
  shown=$(zpool status -P)
  printf '%s\n' "$shown" | sed 's/^/S\t/'
  leaves=$(printf '%s\n' "$shown" | sed -n 's,^[[:space:]]*\(/[^[:space:]]*\).*,\1,p')
  IFS=$line
  for leaf in $leaves; do
    disk=$(disk_of "$leaf"); used="$used|$(readlink -f -- "$leaf")|$disk|"
    printf 'L\t%s\t%s\n' "$leaf" "$disk"
  done
  unset IFS
fi
for path in "$@"; do
  if [ ! -e "$path" ]; then printf 'D\t%s\t\n' "$path"; continue; fi
  disk=$(readlink -f -- "$path")
  printf 'D\t%s\t%s\n' "$path" "$disk"
  case $used in *"|$disk|"*) continue;; esac
  lsblk -nrpo NAME,TYPE,FSTYPE,LABEL,MOUNTPOINT -- "$disk" 2>/dev/null | tell "B$tab$path"
  wipefs -n -p -- "$disk" 2>/dev/null | grep -v '^#' | tell "W$tab$path"
  for place in "$disk" $(lsblk -nrpo NAME -- "$disk" 2>/dev/null); do
    command -v zdb >/dev/null || break
    zdb -l "$place" 2>/dev/null | sed -n "s,^    \(name\|state\|pool_guid\|hostname\): ,\1\t,p" | tell "Z$tab$path"
  done
done
"""
)
_DATASETS = (
    _HEAD
    + r"""
if [ -z "$no" ] && [ -n "$pools" ]; then
  zfs get -Hp -t filesystem,volume -o name,property,value,source "$1" | sed 's/^/G\t/'
fi
shift
named=
while [ "$1" != -- ]; do named="$named$line$1"; shift; done
shift
# one that is not there keeps no other one from being told of
if [ -z "$no" ] && [ -n "$named" ]; then
  (IFS=$line; zfs get -Hp -o name,property,value,source all $named 2>/dev/null | sed 's/^/G\t/')
fi
while [ "$1" != -- ]; do
  zfs userspace -Hpn -t posixuser,posixgroup -o type,name,used,quota "$1" 2>/dev/null | sed "s,^,U\t$1\t,"
  shift
done
shift
for path in "$@"; do
  if mountpoint -q -- "$path"; then printf 'M\t%s\tmounted\t\n' "$path"
  else printf 'M\t%s\t\t%s\n' "$path" "$(find "$path" -mindepth 1 -maxdepth 1 -printf '%f' -quit 2>/dev/null)"; fi
done
"""
)


@dataclass(frozen=True)
class Use:
    """What somebody uses of a dataset and may use, both in bytes; quota 0 is no limit."""

    used: int
    quota: int


@dataclass(frozen=True)
class DatasetsState:
    """Properties by dataset and name; uses of users and groups by dataset and number; places where something stands.

    `places`: path -> "mounted", or the name of a file that lies there, or "". `version` is the module's: (2, 3).
    """

    datasets: dict[str, dict[str, Property]]
    users: dict[str, dict[str, Use]] = field(default_factory=dict)
    groups: dict[str, dict[str, Use]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    trouble: str = ""
    version: tuple[int, ...] = ()


class Pools(FactBase[PoolsState | None]):
    """All imported pools and what lies on these disks, in one command. None when the answer was cut short.

    Disks of imported pools are not read: only what lies on others matters.
    """

    def command(self, disks: Sequence[str] = ()) -> StringCommand:
        """Ask for all at once."""
        return ask(_POOLS, *disks)

    def process(self, output: list[str]) -> PoolsState | None:
        """Read the answer."""
        lines = whole(output)
        if lines is None:
            return None
        rows = [line.split("\t", 1) for line in lines]
        of = {kind: [rest for first, rest in rows if first == kind] for kind in "XGSLDBWZ"}
        return PoolsState(
            pools_of(of["G"], of["S"], dict(line.split("\t") for line in of["L"])),
            disks_of(of),
            of["X"][0] if of["X"] else "",
        )


class Datasets(FactBase[DatasetsState | None]):
    """Datasets and volumes of all imported pools, in one command. None when the answer was cut short.

    Of each the few `properties` are read, of those `named` all; `users` are datasets whose users' and groups' uses are
    wanted, `places` paths at which something may lie already.
    """

    def command(
        self,
        named: Sequence[str] = (),
        users: Sequence[str] = (),
        places: Sequence[str] = (),
        properties: Sequence[str] = ("type", "mountpoint", "used"),
    ) -> StringCommand:
        """Ask for all at once."""
        return ask(_DATASETS, ",".join(properties), *named, "--", *users, "--", *places)

    def process(self, output: list[str]) -> DatasetsState | None:
        """Read the answer."""
        lines = whole(output)
        if lines is None:
            return None
        said = dict(line.split("\t", 1) for line in lines if line.startswith(("X\t", "Y\t")))
        version = tuple(int(part) for part in said.get("Y", "").partition("-")[0].split(".")[:2] if part.isdigit())
        found = DatasetsState({}, trouble=said.get("X", ""), version=version)
        for line in lines:
            kind, *rest = line.split("\t")
            if kind == "G":
                name, key, *value, source = rest
                found.datasets.setdefault(name, {})[key] = Property("\t".join(value), source)
            elif kind == "U":
                name, whose, number, used, quota = rest
                uses = found.groups if "Group" in whose else found.users
                uses.setdefault(name, {})[number] = Use(_number(used), _number(quota))
            elif kind == "M":
                found.places[rest[0]] = rest[1] or rest[2]
        return found


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
