#!/bin/sh
# After packages.sh and removals.sh, with the arguments of packages.sh: prints "gone NAME WANTED" for each package that apt
# would remove to install the missing packages; WANTED are the missing packages that need the removal. Prints
# "untried MESSAGE" if apt cannot install them with its present lists: then the packages that its lists have are tried
# without the others, and installed packages are asked for their conflicts with the others. Prints "coming NAME VERSION" for
# the missing packages that apt's lists have. Tabs between the words.
# $1... packages, or NAME=VERSION for a version that may be older.
# shellcheck disable=SC2086 # names, with spaces between

ask_apt() { # missing packages
  case "$*" in *=*) set -- --allow-downgrades -- "$@";; *) set -- -- "$@";; esac
  gone=$(removals "$@") || { printf 'untried\t%s\n' "$gone"; return 1; }
  [ -n "$gone" ] || return 0
  case $1 in --) options=;; *) options=$1; shift;; esac
  shift
  for package in "$@"; do
    # without an option, there is no argument
    removals $options -- "$package" | sed "s/$/ $package/"
  done | all=$gone awk '
    { by[$1] = by[$1] (by[$1] ? ", " : "") $2 }
    END { count = split(ENVIRON["all"], names, "\n"); for (i = 1; i <= count; i++) printf "gone\t%s\t%s\n", names[i], by[names[i]] }'
}
candidates() { # missing packages: prints "NAME VERSION", as apt would install, if its lists have it
  for package in "$@"; do
    case $package in *=*) printf '%s %s\n' "${package%%=*}" "${package#*=}";; *) plain="$plain $package";; esac
  done
  # for several names, each block of lines begins with "NAME:"
  [ -z "$plain" ] || LC_ALL=C.UTF-8 apt-cache policy $plain 2>/dev/null | awk '
    /^[^ ]/ { name = $1; sub(/:$/, "", name) }
    $1 == "Candidate:" && $2 != "(none)" { print name, $2 }'
}
conflicts() { # packages that apt's lists lack: prints "gone NAME WANTED" for installed packages that conflict with them
  dpkg-query -W -f='${db:Status-Status}\t${Package}\t${Conflicts}\n' 2>/dev/null | wanted="$*" awk -F'\t' '
    BEGIN { count = split(ENVIRON["wanted"], names, " "); for (i = 1; i <= count; i++) missing[names[i]] = 1 }
    $1 == "installed" {
      by = ""; count = split($3, others, / *, */)
      for (i = 1; i <= count; i++) if (others[i] in missing) by = by (by ? ", " : "") others[i]
      if (by) printf "gone\t%s\t%s\n", $2, by
    }'
}
plain=
# shellcheck disable=SC2154 # packages.sh sets found
missing=$(printf '%s\n' "$@" | installed=$found awk -F= '
  BEGIN { count = split(ENVIRON["installed"], rows, "\n")
    for (i = 1; i <= count; i++) { split(rows[i], part, "\t"); if (substr(part[2], 2, 1) == "i") version[part[3]] = part[4] } }
  !($1 in version) || ($2 != "" && version[$1] != $2)')
if [ -n "$missing" ]; then
  coming=$(candidates $missing)
  [ -z "$coming" ] || printf '%s\n' "$coming" | sed 's/^\([^ ]*\) /coming\t\1\t/'
  ask_apt $missing || {
    unknown='' listed=''
    for package in $missing; do
      case "
$coming
" in *"
${package%%=*} "*) listed="$listed $package";; *) unknown="$unknown $package";; esac
    done
    if [ -n "$unknown" ]; then
      [ -z "$listed" ] || ask_apt $listed | grep -v '^untried' || :
      conflicts $unknown
    fi
  }
fi
