#!/bin/sh
# What changes of ZFS begin with: each is called through try, and one that fails holds up no other.
# What went wrong is collected in failed.

set -u; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C; failed=
try() {
  said=$("$@" 2>&1 </dev/null) && return
  said=$(printf '%s' "$said" | tr '\n\t' '  '); failed="${failed:+$failed; }${said:-$* failed}"
}
