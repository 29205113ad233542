#!/bin/sh
# After daemon_checks.sh: checks programs of the site. The interpreter of each is on the node, and accepts its syntax, if it
# is a shell or Python; no program is run. Each refused program is named. With $GPUPOOL_COMPLETE, a plan refuses a program
# whose interpreter is missing; otherwise, the same apply may install the interpreter.
# shellcheck disable=SC2154 # daemon_checks.sh sets etc, dir and under

interpreter() { # the words of a program's first line: sets program, "" if there is none
  program=$1
  case $program in */env) ;; *) [ -x "$program" ] || program=; return;; esac
  shift
  while :; do case ${1-} in -*|*=*) shift;; *) break;; esac; done # env's options and variables
  wanted=${1:-env} program=$(command -v -- "$wanted") || program=
}
syntax() { # file: fails with a message if the interpreter does not accept it
  case ${program##*/} in
    sh|bash|dash|ksh) "$program" -n "$1";;
    python3*) "$program" -I -B -c '
import sys
try:
    compile(open(sys.argv[1], "rb").read(), sys.argv[1], "exec")
except (SyntaxError, ValueError) as error:
    sys.exit("%s: line %s: %s" % (sys.argv[1], getattr(error, "lineno", "?"), getattr(error, "msg", error)))' "$1";;
  esac
}
refused='' missing=
set -f
for path in "$@"; do
  new=$under$path$GPUPOOL_NEW name=${path##*/}
  line=$(head -n 1 -- "$new") wanted=
  # shellcheck disable=SC2086 # the words of the line
  interpreter ${line#'#!'}
  if [ -z "$program" ]; then
    line=${line#'#!'}
    missing="${missing:+$missing; }$name: its interpreter ${wanted:-${line%% *}} is not on the node"
  elif ! output=$(syntax "$new" 2>&1 </dev/null); then
    refused="${refused:+$refused; }$(printf '%s\n' "$output" | sed "s:$new:$name:g" | tail -n 1)"
  fi
done
[ -z "$under" ] || [ -n "${GPUPOOL_COMPLETE-}" ] || [ -z "$missing" ] || [ -n "$refused" ] || exit 77
refused="$refused${missing:+${refused:+; }$missing}"
[ -z "$refused" ] || { printf '%s\n' "$refused"; exit 1; }
