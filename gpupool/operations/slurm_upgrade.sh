#!/bin/sh
# After packages.sh: defines functions that upgrade Slurm on a node, and roll it back; the caller appends their calls.
# $dir has the files: `new` packages; `old` packages for a rollback, with their `list`; `backup`, a file with the path of
# the matching backup; and `back`, which exists during a rollback. The script continues after a lost connection.
# shellcheck disable=SC2154 # the caller sets dir, log and away

packages() { apt -o Dir::Cache::archives="$dir/new" --no-install-recommends "$@"; }
keep() { # file, text: write and sync
  printf '%s\n' "$2" >"$1.new"; sync -- "$1.new"; mv -fT -- "$1.new" "$1"; sync -- "$dir"
}
fetch_new() { # NAME=VERSION...
  mkdir -p -- "$dir/new/partial"
  packages install --download-only -- "$@" || { update || :; packages install --download-only -- "$@"; } ||
    say 'cannot fetch the packages'
}
fetch_old() { # NAME=VERSION...
  mkdir -p -- "$dir/old"; missing=
  for package in "$@"; do
    cp -- /var/cache/apt/archives/"$(file_of "$package")"_*.deb "$dir/old/" 2>/dev/null || missing="$missing $package"
  done
  # shellcheck disable=SC2086 # names and versions
  [ -z "$missing" ] || (cd "$dir/old" && apt download $missing) || {
    tail -n 30 "$log" >&2
    echo "a rollback would lack packages: apt cannot fetch$missing; add a repository that has it, or put the .deb into /var/cache/apt/archives" >&2
    exit 1
  }
  for package in "$@"; do
    sync -- "$dir/old/$(file_of "$package")"_*.deb; printf '%s\n' "$package" >>"$dir/old/list"
  done
  sync -- "$dir/old/list"
}
file_of() { printf '%s_%s' "${1%%=*}" "$(printf '%s' "${1#*=}" | sed 's/:/%3a/g')"; }
release_of() { # daemon: the release of its package, the distribution's or SchedMD's
  dpkg-query -W -f='${db:Status-Abbrev} ${Version}\n' "$1" "slurm-smd-$1" 2>/dev/null |
    sed -nE 's/^.[^nc]. *([0-9]+:)?([0-9]+\.[0-9]+).*/\2/p'
}
last() { journalctl --no-pager -q -o cat -n 60 -u "$1" --since "@$began" | sed 's/^\[[^]]*\] //' |
  grep -E 'fatal|error' | tail -n "${2:-1}" | tr '\n' ' '; }
start() { # unit...: start all units, even if one fails; restart, because slurmd may have started during dpkg's work
  late=
  for unit in "$@"; do
    systemctl reset-failed -- "$unit" 2>/dev/null || :
    systemctl restart -- "$unit" >>"$log" 2>&1 || late="$late $unit does not start: $(last "$unit") (see journalctl -u $unit);"
  done
  case " $* " in *' slurmd '*) disarm;; esac
  [ -z "$late" ] || { echo "${late# }" >&2; return 1; }
}
# Slurm ends the jobs of a node whose slurmd is stopped for too long: a timer starts slurmd before that, even if dpkg hangs.
arm() {
  disarm
  systemd-run --quiet --collect --unit=gpupool-slurmd --on-active="$1" systemctl start slurmd >>"$log" 2>&1 || :
}
disarm() { systemctl stop gpupool-slurmd.timer 2>/dev/null || :; }
stop() { # unit...; slurmd is stopped for $patience seconds at most
  case " $* " in *' slurmd '*) arm "$patience";; esac
  for unit in "$@"; do systemctl stop -- "$unit" 2>/dev/null || :; done
}
# the path of the newest backup of the database, from the output of `list`
NEWEST='import json, sys; print(json.load(sys.stdin)["database"]["backups"][0]["path"])'
began=$(date +%s)
upgrade() { # release, units to stop, units to start afterwards, backup program or "", NAME=VERSION...
  release=$1 units=$2 after=$3 backup=$4; shift 4
  was=$(release_of slurmdbd)
  # shellcheck disable=SC2086 # names of units
  stop $units
  # never back up a database that slurmdbd of the new release has begun to convert
  if [ -n "$backup" ] && [ "$was" != "$release" ]; then
    if ! errors=$("$backup" make 2>&1 >>"$log") || ! path=$("$backup" list | python3 -c "$NEWEST"); then
      printf '%s\n' "$errors" >>"$log"; old_again "$units"
      echo "no backup, and nothing was changed: $(printf '%s\n' "$errors" | head -n 1)" >&2; exit 1
    fi
    keep "$dir/backup" "$path"
  fi
  if ([ -z "$(dpkg --audit)" ] || mend; packages --no-download install -- "$@" || say 'apt-get install'); then
    # shellcheck disable=SC2086
    start $after
  else
    old_again "$units"; exit 1
  fi
}
old_again() { # units: start the units with the former release, and slurmd in any case
  for unit in slurmdbd slurmctld slurmd sackd; do
    case " $1 " in *" $unit "*) ;; *) continue;; esac
    [ "$unit" != slurmd ] && [ "$(release_of "$unit")" = "$release" ] || start "$unit" || :
  done
}
answers() { # waits for slurmdbd without a limit, while it converts its database
  port=$(sed -nE 's/^[[:space:]]*DbdPort[[:space:]]*=[[:space:]]*([0-9]+).*/\1/Ip' /etc/slurm/slurmdbd.conf | tail -n 1)
  mute=0 many=$(systemctl show -p NRestarts --value slurmdbd)
  until output=$(timeout 30 sacctmgr -nP show cluster 2>&1); do
    # systemd restarts a slurmdbd that ends, so count the restarts
    if [ "$(systemctl show -p NRestarts --value slurmdbd)" -gt "$((many + 1))" ] ||
      case $(systemctl is-active slurmdbd) in active | activating) false;; esac; then
      echo 'gpupool-reason: unit-down slurmdbd.service' >&2
      echo "slurmdbd does not run with the database: $(last slurmdbd 3)(see journalctl -u slurmdbd)" >&2; exit 1
    fi
    if ss -Hltn "sport = :${port:-6819}" | grep -q .; then mute=$((mute + 1)); fi
    [ "$mute" -lt 120 ] || { echo "slurmdbd runs, but does not answer sacctmgr: $output" >&2; exit 1; }
    sleep 1
  done
}
go_back() { # units to stop, units to start afterwards
  keep "$dir/back" "$(cat "$dir/backup")"
  # shellcheck disable=SC2086 # names of units
  stop $1
  [ -z "$(dpkg --audit)" ] || mend
  packages --allow-downgrades install -- "$dir"/old/*.deb || say 'apt-get install --allow-downgrades'
  # shellcheck disable=SC2086
  start $2
}
