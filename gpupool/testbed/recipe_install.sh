#!/bin/sh
# Installs Debian packages and starts nothing. $packages are their names; /apt-cache is shared between builds.
# shellcheck disable=SC2154 # packages is set before it
# shellcheck disable=SC2086 # names, with spaces between

set -eu
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
# Downloads are shared between builds by hard links: each build locks and fills a folder of its own.
own=/apt-cache/build-$(hostname)
mkdir -p /apt-cache/debs $own/partial
ln -f /apt-cache/debs/*.deb $own/ 2>/dev/null || true
install() {
  apt-get install --yes --quiet --no-install-recommends -o Dir::Cache::archives=$own \
    -o APT::Keep-Downloaded-Packages=true -o DPkg::Options::=--force-unsafe-io -o DPkg::Use-Pty=0 "$@"
}
[ -n "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ] || apt-get update --quiet
# Kept package lists grow old: a mirror drops what they name.
install $packages || { apt-get update --quiet; install $packages; }
ln -f $own/*.deb /apt-cache/debs/ 2>/dev/null || true
rm -rf $own /usr/sbin/policy-rc.d
