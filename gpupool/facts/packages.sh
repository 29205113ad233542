#!/bin/sh
# Prints "package STATE NAME VERSION" for each package that dpkg knows, with tabs; "unfinished" if dpkg was interrupted;
# "leftover" if a killed run has left its policy-rc.d. $1 a line of gpupool's policy-rc.d, $2... packages, or NAME=VERSION.

mark=$1; shift
found=$(for each in "$@"; do printf '%s\0' "${each%%=*}"; done |
  xargs -0r dpkg-query -W -f='package\t${db:Status-Abbrev}\t${Package}\t${Version}\n' 2>/dev/null)
[ -z "$found" ] || printf '%s\n' "$found"
[ -z "$(dpkg --audit 2>/dev/null)" ] || echo unfinished
policy=/usr/sbin/policy-rc.d
if [ -e "$policy.gpupool-kept" ] || grep -qsF "$mark" "$policy"; then echo leftover; fi
