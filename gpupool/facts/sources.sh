#!/bin/sh
# Prints what is at apt's files now and what apt-get update last read: "F SHA256 PATH" (- where there is none) and
# "S SHA256 PATH", with tabs between. $1 the stamp, $2... the files.

stamp=$1; shift
[ ! -e "$stamp" ] || sed 's/^/S\t/' "$stamp"
for path in "$@"; do
  if [ -f "$path" ]; then printf 'F\t%s\t%s\n' "$(sha256sum <"$path" | cut -c-64)" "$path"
  else printf 'F\t-\t%s\n' "$path"; fi
done
