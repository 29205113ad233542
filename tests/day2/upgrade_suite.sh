#!/bin/sh
# Adds the Slurm of Debian's next release to apt, as an admin would: from the node's mirror, and only Slurm with the
# library that it requires. Pinned by source package: patterns of names take apt twice the time.

set -eu
mirror=$(grep -oE 'https?://[^ ]+' /etc/apt/sources.list | grep -v security | head -n 1)
echo "deb [lang=none] $mirror sid main" > /etc/apt/sources.list.d/slurm.list
cat > /etc/apt/preferences.d/slurm <<'END'
Package: *
Pin: release n=sid
Pin-Priority: 50

Package: src:slurm-wlm src:hwloc
Pin: release n=sid
Pin-Priority: 990
END
