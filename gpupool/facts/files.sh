#!/bin/sh
# Prints what stands at paths, with tabs between: P kind mode owner group target path, S sha256 path, T path text.
# $1 "|SHA256 PATH|" for files as they should be, $2 "|PATH|" for files whose text may be read, $3... paths.
# The text, in base64, comes along only where a file differs and has at most 256 KiB.

same=$1 shown=$2; shift 2
find "$@" -maxdepth 0 -printf 'P\t%y\t%m\t%u\t%g\t%l\t%p\n' 2>/dev/null
for path in "$@"; do
  shift
  # a link is not followed: it may lead to a server that is away
  if [ ! -L "$path" ] && [ -f "$path" ]; then set -- "$@" "$path"; fi
done
[ $# -eq 0 ] || sha256sum -- "$@" | while read -r sum path; do
  printf 'S\t%s\t%s\n' "$sum" "$path"
  case $same in *"|$sum $path|"*) continue;; esac
  case $shown in *"|$path|"*) ;; *) continue;; esac
  [ "$(stat -c %s -- "$path")" -le 262144 ] || continue
  printf 'T\t%s\t' "$path"; base64 -w0 -- "$path"; echo
done
