#!/bin/sh
# Has apt know the Slurm of Debian's next release, as an admin would: from the node's own mirror, and nothing else than
# Slurm and the libraries that it does not run without.

set -eu
mirror=$(grep -oE 'https?://[^ ]+' /etc/apt/sources.list | grep -v security | head -n 1)
echo "deb $mirror sid main" > /etc/apt/sources.list.d/slurm.list
cat > /etc/apt/preferences.d/slurm <<'END'
Package: *
Pin: release n=sid
Pin-Priority: 50

Package: slurm* sackd libslurm* libpam-slurm* libhwloc*
Pin: release n=sid
Pin-Priority: 990
END
