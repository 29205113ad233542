#!/bin/sh
# Writes standard input to a file atomically. An existing file keeps its owner and mode.
# $1 the path of the file, $2 the number of bytes.
# Exit code 1 if the connection was lost and fewer bytes arrived.
path=$1 size=$2
[ ! -L "$path" ] || path=$(readlink -f -- "$path") || exit
if [ -e "$path" ]; then
  [ -f "$path" ] || { echo "$path is not a regular file" >&2; exit 1; }
fi
temporary=$(mktemp -- "$path.gpupool-XXXXXX") || exit
trap 'rm -f -- "$temporary"' EXIT
if [ -e "$path" ]; then
  chown --reference="$path" -- "$temporary" && chmod --reference="$path" -- "$temporary" || exit
else
  chmod "$(printf %o $((0666 & ~$(umask))))" -- "$temporary" || exit
fi
cat >"$temporary" || exit
[ "$(stat -c %s -- "$temporary")" = "$size" ] || { echo "$path: received only a part of it" >&2; exit 1; }
mv -fT -- "$temporary" "$path"
