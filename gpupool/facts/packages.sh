#!/bin/sh
# Prints "package STATE NAME VERSION" of each package that dpkg knows, with tabs between; "unfinished" where dpkg must
# configure first; "leftover" where a killed run has left its policy-rc.d. $1 what our policy-rc.d says, $2... packages.

mark=$1; shift
dpkg-query -W -f='package\t${db:Status-Abbrev}\t${Package}\t${Version}\n' "$@" 2>/dev/null
[ -z "$(dpkg --audit 2>/dev/null)" ] || echo unfinished
policy=/usr/sbin/policy-rc.d
if [ -e "$policy.gpupool-kept" ] || grep -qsF "$mark" "$policy"; then echo leftover; fi
