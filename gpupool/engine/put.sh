#!/bin/sh
# Writes standard input to a file, whole or not at all; owner and mode of a file that is there stay.
# $1 the file, $2 the number of bytes.
# Ends with 1 if fewer bytes have come, since the connection was lost.
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
[ "$(stat -c %s -- "$temporary")" = "$size" ] || { echo "$path: only a part has come" >&2; exit 1; }
mv -fT -- "$temporary" "$path"
