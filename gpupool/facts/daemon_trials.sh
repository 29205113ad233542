#!/bin/sh
# Has checks of daemons try new files that are not on the node: they are in a temporary folder, with their paths below it.
# The caller appends its calls of `try`, one a check. Prints PATH, a tab and "refused MESSAGE" if a check fails, "untried"
# if the node lacks the daemon, "accepted" otherwise; the path is that of the first file.

try() { # the script of the check, the daemon's folder, then path and gzipped text, in base64, of each file
  check=$1 etc=$2 first=$3 status=77; shift 2 # 77: the check was not made
  if dir=$(mktemp -d /run/gpupool-try.XXXXXX); then
    for _ in $(seq $(($# / 2))); do
      path=$1
      mkdir -p -- "$dir${path%/*}" && printf '%s' "$2" | base64 -d | gzip -d > "$dir$path.gpupool-try"
      shift 2; set -- "$@" "$path"
    done
    output=$(GPUPOOL_UNDER=$dir GPUPOOL_NEW=.gpupool-try sh -c "$check" check "$etc" "$@" 2>&1 </dev/null); status=$?
    rm -rf -- "$dir"
  fi
  case $status in
    0) printf '%s\taccepted\n' "$first";;
    77) printf '%s\tuntried\n' "$first";;
    *) printf '%s\trefused %s\n' "$first" "$(printf '%s\n' "$output" | tail -n 1)";;
  esac
}
