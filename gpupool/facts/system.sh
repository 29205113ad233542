#!/bin/sh
# Prints the fields of os-release by which a system is known, one a line: ID, VERSION_CODENAME, PRETTY_NAME. A field that is
# not there is empty. The first of the two files that exists counts (os-release(5)).

for file in /etc/os-release /usr/lib/os-release; do
  [ -r "$file" ] || continue
  unset ID VERSION_CODENAME PRETTY_NAME
  # shellcheck disable=SC1090 # the node's own file
  . "$file"
  printf '%s\n' "${ID-}" "${VERSION_CODENAME-}" "${PRETTY_NAME-}"
  break
done
