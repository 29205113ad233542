#!/bin/sh
# Installs the package gpupool-tool 1 on a node, and adds a local suite of security with gpupool-tool 2, whose installation
# fails while /var/tmp/broken exists.

set -e
mkdir -p /srv/security && cd /srv/security
build() { # version, script before the installation
  rm -rf build && mkdir -p build/DEBIAN
  printf 'Package: gpupool-tool\nVersion: %s\nArchitecture: all\nMaintainer: tests\nDescription: a tool\n' "$1" >build/DEBIAN/control
  printf '#!/bin/sh\n%s\n' "$2" >build/DEBIAN/preinst
  chmod 755 build/DEBIAN/preinst
  dpkg-deb -b build "gpupool-tool_$1_all.deb" >/dev/null
}
build 1 'exit 0'
build 2 '[ ! -e /var/tmp/broken ]'
dpkg -i gpupool-tool_1_all.deb >/dev/null
file=gpupool-tool_2_all.deb
{
  dpkg-deb -f "$file"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
} >Packages
printf 'Suite: stable-security\nSHA256:\n %s %s Packages\n' "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
echo 'deb [trusted=yes] file:/srv/security ./' >/etc/apt/sources.list.d/security.list
touch /var/tmp/broken
