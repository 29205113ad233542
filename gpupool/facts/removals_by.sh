#!/bin/sh
# After packages.sh and removals.sh, with the arguments of packages.sh: prints "gone NAME WANTED" for each package that apt
# would remove to install the missing packages; WANTED are the missing packages that need the removal. Prints
# "untried MESSAGE" if apt cannot install them with its present lists. Tabs between the words.
# $1... packages, or NAME=VERSION for a version that may be older.

ask_apt() { # missing packages
  case "$*" in *=*) set -- --allow-downgrades -- "$@";; *) set -- -- "$@";; esac
  gone=$(removals "$@") || { printf 'untried\t%s\n' "$gone"; return; }
  [ -n "$gone" ] || return
  case $1 in --) options=;; *) options=$1; shift;; esac
  shift
  for package in "$@"; do
    # shellcheck disable=SC2086 # without an option, there is no argument
    removals $options -- "$package" | sed "s/$/ $package/"
  done | all=$gone awk '
    { by[$1] = by[$1] (by[$1] ? ", " : "") $2 }
    END { count = split(ENVIRON["all"], names, "\n"); for (i = 1; i <= count; i++) printf "gone\t%s\t%s\n", names[i], by[names[i]] }'
}
# shellcheck disable=SC2154 # packages.sh sets found
missing=$(printf '%s\n' "$@" | installed=$found awk -F= '
  BEGIN { count = split(ENVIRON["installed"], rows, "\n")
    for (i = 1; i <= count; i++) { split(rows[i], part, "\t"); if (substr(part[2], 2, 1) == "i") version[part[3]] = part[4] } }
  !($1 in version) || ($2 != "" && version[$1] != $2)')
# shellcheck disable=SC2086 # names, with spaces between
[ -z "$missing" ] || ask_apt $missing
