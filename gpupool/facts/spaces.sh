#!/bin/sh
# Prints the state of paths, with tabs: P uid gid mode kind path; A gid path for each group that may write by ACL.
# $1... paths.

find "$@" -maxdepth 0 -printf 'P\t%U\t%G\t%m\t%y\t%p\n' 2>/dev/null
command -v getfacl >/dev/null || set --
for path in "$@"; do
  if [ ! -L "$path" ] && [ -d "$path" ]; then
    getfacl -cpns -- "$path" 2>/dev/null | sed -n "s/^group:\([0-9][0-9]*\):.w.*/\1/p" |
      while read -r gid; do printf 'A\t%s\t%s\n' "$gid" "$path"; done
  fi
done
