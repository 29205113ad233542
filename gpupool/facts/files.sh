#!/bin/sh
# Prints the state of paths, with tabs: P kind mode owner group target path, S sha256 path, T path text.
# $1 "|SHA256 PATH|" for each wanted file, $2 "|PATH|" for each file whose text may be read, $3... paths.
# The text (in base64) is printed only if a file differs and has at most 256 KiB.

same=$1 shown=$2; shift 2
find "$@" -maxdepth 0 -printf 'P\t%y\t%m\t%u\t%g\t%l\t%p\n' 2>/dev/null
for path in "$@"; do
  shift
  # do not follow a link: it may point to a server that does not answer
  if [ ! -L "$path" ] && [ -f "$path" ]; then set -- "$@" "$path"; fi
done
[ $# -eq 0 ] || sha256sum -- "$@" | while read -r sum path; do
  printf 'S\t%s\t%s\n' "$sum" "$path"
  case $same in *"|$sum $path|"*) continue;; esac
  case $shown in *"|$path|"*) ;; *) continue;; esac
  [ "$(stat -c %s -- "$path")" -le 262144 ] || continue
  printf 'T\t%s\t' "$path"; base64 -w0 -- "$path"; echo
done
