#!/bin/sh
# Defines functions that install Debian packages; the caller appends their calls. $mark: a line of gpupool's policy-rc.d.
# $lock: a lock file, which is held until the end. $refused: the line before the message of a refusal. Needs removals.sh.
# No service starts meanwhile. The node's own policy-rc.d is restored at the end, also after a failure.
# Output is written to a file on the node, so that a lost connection does not kill dpkg by a broken pipe.
# shellcheck disable=SC2154,SC2086,SC2116 # the caller sets mark, lock and refused; names, with spaces between

set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C.UTF-8
export GPUPOOL_APT=1 # by which engine/dpkg_lock.sh knows that this apt-get waits for no other
policy=/usr/sbin/policy-rc.d log=/var/log/gpupool-packages.log
restore() {
  if grep -qsF "$mark" "$policy"; then rm -f "$policy"; fi
  if [ -e "$policy.gpupool-kept" ]; then mv -fT "$policy.gpupool-kept" "$policy"; fi
}
last() { tail -c "+$((length + 1))" "$log" | grep -E "^($1): " | head -n 1; } # the first such line of the last apt-get
say() { # a source that cannot be read may be why a package is missing
  tail -n 30 "$log" >&2; printf '%s\n' "$1: $(last 'E|dpkg|dpkg-deb')${away:+; $away}" >&2; exit 1
}
apt() {
  length=$(wc -c <"$log")
  apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 "$@" \
    >>"$log" 2>&1 </dev/null
}
update() { # Error-Mode=any: otherwise apt only warns about a source that does not answer; it keeps the lists of the others
  away=
  apt -o APT::Update::Error-Mode=any update && return
  away=$(last 'E|W')
  away="apt-get update: ${away:-failed with no output}"; return 1
}
name_removals() { # after apt has failed: ends with the names if these arguments of apt-get would remove a package
  gone=$(removals "$@") || return 0
  [ -z "$gone" ] || {
    printf '%s\n' "$refused" "apt would remove packages that the inventory does not name: $(echo $gone)" >&2; exit 1
  }
}
get() { # tries the present lists first; if they are not enough, those of all sources that answer
  older=; case "$*" in *=*) older=--allow-downgrades;; esac # a pinned version may be older
  apt install --no-install-recommends --no-remove $older -- "$@" && return
  [ -n "$away" ] || { update || :; apt install --no-install-recommends --no-remove $older -- "$@" && return; }
  name_removals $older -- "$@"
  say 'apt-get install'
}
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(]*\)$/\1/p'; } # "" if apt's lists have none
only() { # release of Slurm, rest of the message, package...: refuses if apt would install another release of one
  release=$1 message=$2; shift 2
  for each in "$@"; do
    [ -n "$(candidate "$each")" ] || { update || :; break; }
  done
  for each in "$@"; do
    version=$(candidate "$each")
    case ${version#*:} in '' | "$release" | "$release"[!0-9]*) continue;; esac
    printf '%s\n' "$refused" "apt would install $each $version, $message" >&2; exit 1
  done
}
from_file() { apt install --no-install-recommends --no-remove --allow-downgrades -- "$file"; } # there may be a newer one
fetch() { # package, address, sha256 of the file, folder of notes
  dir=$(mktemp -d); chmod 755 "$dir"; file=$dir/$1.deb
  trap 'rm -rf -- "$dir"; restore' EXIT
  # apt's download helper uses apt's proxies, and checks the sum
  output=$(/usr/lib/apt/apt-helper download-file "$2" "$file" "SHA256:$3" 2>&1) || {
    printf '%s\n' "$output" >>"$log"; output=$(printf '%s\n' "$output" | grep '^E: ' | head -n 1)
    output=${output#E: }; printf '%s\n' "cannot fetch $2: ${output#"Failed to fetch $2  "}" >&2; exit 1
  }
  from_file || { update || :; from_file; } || { name_removals --allow-downgrades -- "$file"; say 'apt-get install'; }
  mkdir -p -- "$4"; printf '%s\n' "$3" >"$4/.$1.new"; sync -- "$4/.$1.new"; mv -fT -- "$4/.$1.new" "$4/$1"
}
away='' length=0
mend() {
  dpkg --force-confold --configure -a >>"$log" 2>&1 </dev/null || :
  torn=$(dpkg-query -W -f='${db:Status-Eflag} ${Package}:${Architecture}\n' | sed -n 's/^reinstreq //p')
  # shellcheck disable=SC2086 # names, with spaces between
  [ -z "$torn" ] || apt install --reinstall -- $torn || say 'apt-get install --reinstall'
  apt -f install || say 'apt-get -f install'
}
fresh() { [ -n "$(find /var/lib/apt/lists /var/lib/apt/lists/partial -maxdepth 0 -mmin -1440 2>/dev/null)" ] &&
  [ -n "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | head -n 1)" ]; }
: >"$log"
exec 9>"$lock"; flock -w 600 9 || { echo 'another installation is running' >&2; exit 1; }
restore
trap restore EXIT
if [ -e "$policy" ]; then mv -fT "$policy" "$policy.gpupool-kept"; fi
printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy"; chmod 755 "$policy"
