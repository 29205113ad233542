#!/bin/sh
# Defines `removals`, which prints what apt-get would remove: it simulates an installation, and changes nothing.
# "Remv NAME [VERSION] …" is apt's notation for programs.

# Arguments: those of `apt-get install`. Prints a name per line. Fails, with apt's words on standard output, if apt cannot
# install the packages at all.
removals() {
  plan=$(LC_ALL=C.UTF-8 apt-get -s -q -y --no-install-recommends install "$@" 2>&1 </dev/null) || {
    printf '%s\n' "$plan" | grep '^E: ' | head -n 1; return 1
  }
  printf '%s\n' "$plan" | sed -n 's/^Remv \([^ ]*\).*/\1/p'
}
