#!/bin/sh
# Prints the settings of files of ours that another file, which is read later, overrides; for each of them, with tabs:
# "wanted PATH KEY VALUE", "now PATH KEY VALUE" and "file PATH KEY OTHER" for each other file with the key, in their order.
# $1... our files: units and drop-ins of systemd, settings of its daemons, of MariaDB and of sssd; others are ignored.

# Prints lines of files, with blanks between; those of a line are read in their order.
orders() {
  units=
  for ours in "$@"; do
    case $ours in /etc/systemd/system/*) ;; *) continue;; esac
    unit=${ours#/etc/systemd/system/}; unit=${unit%/*}; unit=${unit%.d}
    # a drop-in of all units whose names begin so, as for the slice of each user; and of all instances
    case $unit in *-.slice) unit=${unit%.slice}65533.slice;; *@.*) unit=${unit%%@.*}@0.${unit##*@.};; esac
    case " $units " in *" $unit "*) ;; *) units="$units $unit";; esac
  done
  # shellcheck disable=SC2086 # names have no blanks
  [ -z "$units" ] || systemctl show -p FragmentPath,DropInPaths -- $units | awk '
    BEGIN { RS = ""; FS = "\n" }
    { first = rest = ""; for (at = 1; at <= NF; at++) if (sub(/^FragmentPath=/, "", $at)) first = $at
      else if (sub(/^DropInPaths=/, "", $at)) rest = $at; print first, rest }'
  for name in $(printf '%s\n' "$@" | sed -n 's:^/etc/systemd/\([^/]*\.conf\.d\)/.*:\1:p' | sort -u); do
    find "/etc/systemd/$name" "/run/systemd/$name" "/usr/lib/systemd/$name" -name '*.conf' 2>/dev/null |
      awk -F / '!($NF in seen) { seen[$NF]; print $NF "\t" $0 }' | LC_ALL=C sort | cut -f 2 | tr '\n' ' '; echo
  done
  case "$*" in */etc/mysql/*) echo /etc/mysql/conf.d/*.cnf /etc/mysql/mariadb.conf.d/*.cnf;; esac
  case "$*" in */etc/sssd/sssd.conf*) echo /etc/sssd/sssd.conf /etc/sssd/conf.d/*.conf;; esac
}
# Reads files in order. A value counts from its line on; an empty value removes all earlier values. A key is overridden only
# by an empty value if our file has it several times, or if systemd adds up its values.
# shellcheck disable=SC2016 # awk's own variables
READ='
function put(kind, key, value) { printf "%s\t%s\t%s\t%s\n", kind, ours, key, value }
FNR == 1 { section = ""; mine = FILENAME == ours; after = after || was; was = mine; joined = 0 }
/^[[:space:]]*([#;]|$)/ { next }
joined { joined = /\\$/; next }
{ joined = /\\$/ }
/^[[:space:]]*\[/ { section = $0; gsub(/^[[:space:]]*\[|\][[:space:]]*$/, "", section); if (section ~ /^(server|mariadbd?(-[0-9.]+)?|mysqld(-[0-9.]+)?)$/) section = "mysqld"; next }
{
  name = $0; sub(/[[:space:]]*=.*/, "", name); gsub(/^[[:space:]]+|[[:space:]]+$/, "", name); if (section == "mysqld") gsub(/-/, "_", name)
  value = ""; if ($0 ~ /=/) { value = $0; sub(/^[^=]*=[[:space:]]*/, "", value); sub(/[[:space:]]+$/, "", value) }
  key = section " " name
  if (mine) { count[key]++; if (count[key] == 1) order[++keys] = key; wanted[key] = value; now[key] = value }
  else if (after && key in count && index(all, " " FILENAME " ") == 0) {
    adds = count[key] > 1 || (ours ~ /^\/etc\/systemd\/system\// && name ~ /^(After|Before|Wants|Requires|RequiresMountsFor|BindsTo|Conflicts|PartOf|ReloadPropagatedFrom|Environment|EnvironmentFile|DeviceAllow|ReadWritePaths|Exec.*|Condition.*|Assert.*|On.*|Listen.*|Documentation)$/)
    if (adds && value != "") next
    now[key] = value; others[key] = others[key] ((key in others && others[key] != "") ? "\n" : "") FILENAME
  }
}
END { for (at = 1; at <= keys; at++) { key = order[at]
  if (!(key in others) || now[key] == wanted[key]) continue
  put("wanted", key, wanted[key]); put("now", key, now[key])
  files = split(others[key], file, "\n"); for (each = 1; each <= files; each++) put("file", key, file[each]) } }
'
all="$(printf ' %s' "$@") "
orders "$@" | while read -r line; do
  before='' after='' differ=''
  for file in $line; do
    [ -f "$file" ] || continue
    before="$before $file"
    case $all in *" $file "*) after="$after $file";; *) for ours in $after; do
      # another file is read after ours
      case " $differ " in *" $ours "*) ;; *) differ="$differ $ours";; esac
    done;; esac
  done
  # shellcheck disable=SC2086 # paths; a name with a blank is not read by these daemons
  for ours in $differ; do awk -v ours="$ours" -v all="$all" "$READ" $before; done
done
