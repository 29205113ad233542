#!/bin/sh
# Installs Debian packages and starts no daemon. $packages: their names. Builds share /apt-cache.
# shellcheck disable=SC2154 # the caller sets packages
# shellcheck disable=SC2086 # names, with spaces between

set -eu
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
# Builds share downloads by hard links: each build locks and fills a separate folder.
own=/apt-cache/build-$(hostname)
mkdir -p /apt-cache/debs $own/partial
ln -f /apt-cache/debs/*.deb $own/ 2>/dev/null || true
install() {
  apt-get install --yes --quiet --no-install-recommends -o Dir::Cache::archives=$own \
    -o APT::Keep-Downloaded-Packages=true -o DPkg::Options::=--force-unsafe-io -o DPkg::Use-Pty=0 "$@"
}
[ -n "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ] || apt-get update --quiet
# Cached package lists may be outdated: a mirror removes old packages.
install $packages || { apt-get update --quiet; install $packages; }
ln -f $own/*.deb /apt-cache/debs/ 2>/dev/null || true
rm -rf $own /usr/sbin/policy-rc.d
