#!/bin/sh
# After files/former.sh: defines a function that keeps the accounting before gpupool first changes it; the caller appends the
# call. The kept file is empty if slurmdbd had no such cluster.
# shellcheck disable=SC2154 # files/former.sh sets before

set -eu
keep_accounts() { # the shell text that asks for all entities, or nothing
  [ ! -e "$before/accounting.rows" ] || return 0
  private "$before"
  rows=$(eval "$1" </dev/null)
  case "$1:$rows" in :*|*gpupool-end) ;; *) echo 'the accounting cannot be read before its first change' >&2; exit 1 ;; esac
  { [ -z "$rows" ] || printf '%s\n' "$rows"; } | put_down accounting.rows
}
