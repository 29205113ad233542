#!/bin/sh
# Prints, with tabs between, what a node has of Slurm, and what a step to the release $1 would do there; files for the
# step and for the way back are in $2/new and $2/old:
# "installed NAME VERSION", "held NAME"; "wanted NAME VERSION", "none NAME" where apt knows no such version;
# "add NAME VERSION", "replace NAME OLD NEW" and "remove NAME OLD auto|manual" as apt would; "refused REASON" where it
# would not; "fetch" where files for it are not at hand, "back NAME VERSION" of those that the way back lacks;
# "unit NAME STATE", and "old" behind it where the daemon runs with a program that has been replaced; "unfinished"; "kept"
# where $2 is there. Without a release only what is there.
# A node whose apt knows no such version has its lists refreshed first. What a killed upgrade has begun goes on there, and
# between two of its steps nothing fits together: its end is waited for, as $lock has it (see packages.sh).
# shellcheck disable=SC2154 # lock is set before it

release=$1 dir=$2 tab=$(printf '\t')
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
if [ -e "$lock" ]; then exec 9<"$lock"; flock -s -w 300 9; fi
own=$(dpkg-query -W -f='${db:Status-Abbrev}\t${source:Package}\t${Package}\t${Version}\n' 2>/dev/null |
  awk -F'\t' '$1 ~ /^.[^nc]/ && $2 ~ /^slurm-wlm/ { print substr($1, 1, 1) "\t" $3 "\t" $4 }')
# libraries come along with what needs them, and have another name in each release
programs=$(printf '%s\n' "$own" | cut -f 2,3 | grep -v '^libslurm[0-9]')
names=$(printf '%s\n' "$programs" | cut -f 1)
unfinished=$(dpkg --audit 2>/dev/null)
of_release() { # lines NAME VERSION; those of the release
  awk -F'\t' -v r="$release" '{ plain = $2; sub(/^[0-9]*:/, "", plain) } plain ~ "^" r "[^0-9]"'; }
known() { # the newest version of the release that apt knows of each
  # shellcheck disable=SC2086 # names
  apt-cache madison $names | sed 's/^ *//; s/ *| */\t/g' | of_release | awk -F'\t' '!seen[$1]++ { print $1 "\t" $2 }'; }
install() {
  # shellcheck disable=SC2086 # names
  apt-get -q -o Dir::Cache::archives="$dir/new" --no-install-recommends "$@" install -- $exact </dev/null 2>&1; }
there() {
  printf '%s\n' "$own" | awk -F'\t' 'NF { print "installed\t" $2 "\t" $3; if ($1 == "h") print "held\t" $2 }'
  for unit in slurmctld slurmdbd slurmd sackd; do
    [ "$(systemctl show -p LoadState --value "$unit.service")" = loaded ] || continue
    pid=$(systemctl show -p MainPID --value "$unit.service") old=
    case $(readlink "/proc/$pid/exe") in *' (deleted)') old=${tab}old;; esac
    printf 'unit\t%s\t%s%s\n' "$unit" "$(systemctl show -p ActiveState --value "$unit.service")" "$old"
  done
  [ -z "$unfinished" ] || echo unfinished
  [ ! -d "$dir" ] || echo kept
}
coming() {
  if [ -z "$release" ] || [ -z "$programs" ]; then return; fi
  if [ -z "$unfinished" ] && [ "$programs" = "$(printf '%s\n' "$programs" | of_release)" ]; then return; fi
  list=$(known)
  if [ -z "$list" ]; then
    apt-get -q -o DPkg::Lock::Timeout=120 update >/dev/null 2>&1 </dev/null
    list=$(known)
  fi
  for name in $names; do
    printf '%s\n' "$list" | grep -q "^$name$tab" || printf 'none\t%s\n' "$name"
  done
  [ -n "$list" ] || return
  printf '%s\n' "$list" | sed "s/^/wanted$tab/"
  exact=$(printf '%s\n' "$list" | tr '\t' '=')
  auto=$(apt-mark showauto)
  steps=$(install -s) || {
    printf '%s\n' "$steps" | sed -n 's/^ *\(.* : .*Depends: .*\)$/\1/p; s/^E: *\(.*\)$/\1/p' | head -n 2 |
      sed "s/^/refused$tab/"
    return
  }
  printf '%s\n' "$steps" |
    sed -n 's/^\(Inst\|Remv\) \([^ ]*\) \(\[\([^]]*\)\] *\)\{0,1\}\((\([^ ]*\).*\)\{0,1\}.*/\1 \2 \4 \6/p' |
  while read -r act name old new; do
    case $act,$new in
      Remv,*)
        kind=manual; if printf '%s\n' "$auto" | grep -qxF "$name"; then kind=auto; fi
        printf 'remove\t%s\t%s\t%s\n' "$name" "$old" "$kind";;
      Inst,) printf 'add\t%s\t%s\n' "$name" "$old"; continue;;
      *) printf 'replace\t%s\t%s\t%s\n' "$name" "$old" "$new";;
    esac
    grep -qsxF "$name=$old" "$dir/old/list" || printf 'back\t%s\t%s\n' "$name" "$old"
  done
  if [ ! -d "$dir/new/partial" ] || install -y --print-uris -q | grep -q "^'"; then echo fetch; fi
}
there
coming
