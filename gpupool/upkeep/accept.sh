#!/bin/sh
# Looks at a node before it gets jobs, and prints "problem WHAT" for each thing that is wrong; "clock SECONDS" first.
# $1 program that checks the GPUs, if it is there, $2 seconds for each mount, $3 programs that must answer, $4 how many
# of the rest are device files; the others are paths of mounts.

check=$1 seconds=$2 programs=$3 devices=$4; shift 4
date +'clock %s.%N'
systemctl is-active --quiet slurmd || echo 'problem slurmd does not run'
missing=
while [ "$devices" -gt 0 ]; do
  [ -c "$1" ] || missing="$missing $1"
  shift; devices=$((devices - 1))
done
[ -z "$missing" ] || echo "problem no device file$missing"
if [ -x "$check" ]; then timeout -k 5 30 "$check" | sed 's/^/problem /'; fi
for path in "$@"; do
  { said=$(timeout -s KILL "$seconds" stat -f -c %T -- "$path" 2>&1) ||
    printf 'problem %s: %s\n' "$path" "$(test -n "$said" && echo "${said##*: }" || echo "no answer in $seconds s")"
    grep -q "^[^ ]* $path " /proc/self/mounts || printf 'problem %s is not mounted\n' "$path"; } &
done; wait
for program in $programs; do
  case $program in docker) what=info;; *) what=--version;; esac
  timeout -k 5 60 "$program" "$what" >/dev/null 2>&1 || echo "problem $program $what fails"
done
