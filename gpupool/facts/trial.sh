#!/bin/sh
# Has a check try new files that are not on the node: in a mount namespace, their folder is a copy with the new files beside
# the old files. Prints "refused MESSAGE" if the check fails, with a tab; "untried" if there is no folder or no namespace.
# $1 the folder, $2 the suffix of new files, $3 the script of the check, $4 its argument, $5... name and gzipped text, in
# base64, of each file.

try() { # the folder of the trial, then the arguments of the script
  dir=$1 folder=$2 suffix=$3 check=$4 argument=$5; shift 5
  mkdir "$dir/copy" && cp -a -- "$folder/." "$dir/copy/" 2>/dev/null || return
  while [ $# -gt 1 ]; do
    printf '%s' "$2" | base64 -d | gzip -d > "$dir/copy/$1$suffix" || return
    shift 2
  done
  # shellcheck disable=SC2016 # the inner shell has its own arguments
  unshare -m sh -c 'mount --bind "$1/copy" "$2" && touch "$1/bound" || exit 0
    GPUPOOL_NEW=$3 exec sh -c "$4" trial "$5"' \
    sh "$dir" "$folder" "$suffix" "$check" "$argument" > "$dir/output" 2>&1 </dev/null || touch "$dir/refused"
}
dir=$(mktemp -d /run/gpupool-try.XXXXXX) && trap 'rm -rf -- "$dir"' EXIT
[ -z "$dir" ] || try "$dir" "$@"
if [ ! -e "$dir/bound" ]; then echo untried; elif [ -e "$dir/refused" ]; then
  printf 'refused\t%s\n' "$(tail -n 1 "$dir/output")"
fi
