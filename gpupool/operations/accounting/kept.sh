#!/bin/sh
# After files/former.sh: defines a function that keeps a dump of the accounting before gpupool first changes it; the caller
# appends the call. The dump is empty if slurmdbd had no such cluster.
# shellcheck disable=SC2154 # files/former.sh sets before

set -eu
keep_accounts() { # cluster known: y if slurmdbd has it
  [ ! -e "$before/accounting.cfg" ] || return 0
  private "$before"; new=$before/accounting.cfg.gpupool-new; rm -f -- "$new"
  if [ "$2" = y ]; then
    output=$(sacctmgr -iQ dump "$1" file="$new" 2>&1 </dev/null) && [ -s "$new" ] ||
      { printf 'the accounting cannot be dumped before its first change: %s\n' "$output" >&2; exit 1; }
    sync -- "$new"; mv -fT -- "$new" "$before/accounting.cfg"; sync -- "$before"
  else : | put_down accounting.cfg; fi
}
