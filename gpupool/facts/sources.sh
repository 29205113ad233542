#!/bin/sh
# Prints the current files of apt, "F SHA256 PATH" (- if there is no file), and the files that the last apt-get update has
# read, "S SHA256 PATH", with tabs. $1 the stamp, $2... the files.

stamp=$1; shift
[ ! -e "$stamp" ] || sed 's/^/S\t/' "$stamp"
for path in "$@"; do
  if [ -f "$path" ]; then printf 'F\t%s\t%s\n' "$(sha256sum <"$path" | cut -c-64)" "$path"
  else printf 'F\t-\t%s\n' "$path"; fi
done
