#!/bin/sh
# Compares a table of family inet with the file of an active unit that loads it: prints "emptied" if the kernel has no such
# table, "differs" if it has another one. Prints nothing if they are the same, or where this cannot be known: the unit is
# inactive, or there are no network namespaces. $1 the table, $2 the unit, $3 the file.

PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C.UTF-8
# nft's list of the table, without counters, and without elements of dynamic sets: the kernel adds these
# shellcheck disable=SC2016 # the inner shell has its own arguments
LIST='nft -s list table inet "$1" | awk "
  /^\tset / { dynamic = 0 }
  /^\t\tflags .*dynamic/ { dynamic = 1 }
  dynamic && /^\t\telements = / { inside = 1 }
  ! inside
  /}\$/ { inside = 0 }"'
if systemctl is-active --quiet -- "$2"; then
  if ! nft list table inet "$1" >/dev/null 2>&1; then echo emptied
  elif wanted=$(unshare -n sh -c 'nft -f "$2" && '"$LIST" sh "$1" "$3" 2>/dev/null) && [ -n "$wanted" ]; then
    [ "$(sh -c "$LIST" sh "$1")" = "$wanted" ] || echo differs
  fi
fi
