#!/bin/sh
# Makes a node of Debian look like Ubuntu 24.04: os-release, ssh.socket, and an archive like that of Ubuntu, with an empty package
# for each name that Debian lacks. $1: the name of the system, Ubuntu or DGX OS; the others are the names of the packages
# that the node will get.

set -eu
kind=$1 archive=/srv/ubuntu
shift
rm -f /etc/os-release # a link to the file of base-files, which an upgrade replaces
cat >/etc/os-release <<'END'
PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
END
[ "$kind" != "DGX OS" ] || echo 'DGX_SWBUILD_VERSION="7.2.1"' >/etc/dgx-release

# Ubuntu's ssh.service is disabled: its socket starts it at the first login
mkdir -p /etc/systemd/system/ssh.socket.d
printf '[Install]\nRequiredBy=ssh.service\n' >/etc/systemd/system/ssh.socket.d/ubuntu.conf
systemctl daemon-reload
systemctl disable --quiet --now ssh.service
systemctl enable --quiet --now ssh.socket

apt-get update --quiet >/dev/null
for component in main restricted universe multiverse; do
  mkdir -p "$archive/dists/noble/$component/binary-amd64"
  : >"$archive/dists/noble/$component/binary-amd64/Packages"
done
cd "$archive"
packages=dists/noble/universe/binary-amd64/Packages
for name; do
  apt-cache policy "$name" | grep -q 'Candidate: [^(]' && continue
  mkdir -p "build/$name/DEBIAN"
  printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: tests\nDescription: empty\n' "$name" \
    >"build/$name/DEBIAN/control"
  dpkg-deb -b "build/$name" "${name}_1_all.deb" >/dev/null
  {
    dpkg-deb -f "${name}_1_all.deb"
    printf 'Filename: %s_1_all.deb\nSize: %s\n' "$name" "$(stat -c %s "${name}_1_all.deb")"
    printf 'SHA256: %s\n\n' "$(sha256sum "${name}_1_all.deb" | cut -d' ' -f1)"
  } >>$packages
done
{
  printf 'Origin: Ubuntu\nLabel: Ubuntu\nSuite: noble\nCodename: noble\nArchitectures: amd64\n'
  printf 'Date: %s\nComponents: main restricted universe multiverse\nSHA256:\n' "$(date -uR)"
  (cd dists/noble && for file in */binary-amd64/Packages; do
    printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d' ' -f1)" "$(stat -c %s "$file")" "$file"
  done)
} >dists/noble/Release
echo "deb [trusted=yes] file:$archive noble main restricted universe multiverse" >/etc/apt/sources.list.d/ubuntu.list
apt-get update --quiet >/dev/null
