#!/bin/sh
# Prints the state of Slurm on a node and the changes of an upgrade to the release $1, with tabs. Files for the upgrade
# are in $2/new, files for a rollback in $2/old. Without a release, only the state is printed.
# "installed NAME VERSION", "held NAME"; "unit NAME STATE", with "old" if the daemon's program has been replaced;
# "unfinished" if dpkg was interrupted; "kept" if $2 exists;
# "wanted NAME VERSION", or "none NAME" if apt has no such version; apt's changes "add NAME VERSION", "replace NAME OLD
# NEW" and "remove NAME OLD auto|manual", or "refused REASON"; "fetch" if files are missing; "back NAME VERSION" for each
# package that a rollback lacks.
# If apt has no such version, its lists are refreshed first. A killed upgrade may still be running, with packages of two
# releases: so wait for the lock $lock (see packages.sh).
# shellcheck disable=SC2154 # the caller sets lock

release=$1 dir=$2 tab=$(printf '\t')
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
if [ -e "$lock" ]; then exec 9<"$lock"; flock -s -w 300 9; fi
own=$(dpkg-query -W -f='${db:Status-Abbrev}\t${source:Package}\t${Package}\t${Version}\n' 2>/dev/null |
  awk -F'\t' '$1 ~ /^.[^nc]/ && $2 ~ /^slurm-(wlm|smd)/ { print substr($1, 1, 1) "\t" $3 "\t" $4 }')
# libraries are installed as dependencies, and have another name in each release
programs=$(printf '%s\n' "$own" | cut -f 2,3 | grep -v '^libslurm[0-9]')
names=$(printf '%s\n' "$programs" | cut -f 1)
unfinished=$(dpkg --audit 2>/dev/null)
of_release() { # filters lines NAME VERSION by the release
  awk -F'\t' -v r="$release" '{ plain = $2; sub(/^[0-9]*:/, "", plain) } plain ~ "^" r "[^0-9]"'; }
known() { # the newest version of each package in the release, from apt
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
    GPUPOOL_APT=1 apt-get -q -o DPkg::Lock::Timeout=120 update >/dev/null 2>&1 </dev/null
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
