#!/bin/sh
# Makes SchedMD's packages of Slurm from Debian's, with the names, the split and the conflicts of SchedMD's debian/control,
# and without scripts. $1 the folder for the packages and their Packages, $2 the version, such as 24.11.5-1.

set -eu
out=$1 version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chown _apt "$work"
mkdir -p "$out"
cd "$work"
apt-get update --quiet >/dev/null
apt-get download --quiet slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin '^libslurm[0-9]+(t64)?$' slurmctld \
  slurmd slurmdbd sackd libpam-slurm-adopt >/dev/null

pack() { # name of the package, what it depends on, its conflicts, packages of Debian that it is made of
  name=$1 needs=$2 conflicts=$3
  shift 3
  rm -rf tree
  mkdir -p tree/DEBIAN
  for part; do
    dpkg-deb -x "$part"_*.deb tree
    # libraries are Debian's; helpers of Debian's scripts are not needed
    needs="$needs, $(dpkg-deb -f "$part"_*.deb Depends)"
  done
  needs=$(echo "$needs" | tr , '\n' | sed 's/^ *//' | grep -vE '^$|libslurm|slurm-wlm|slurm-client|slurmctld|ucf|adduser' |
    sort -u | paste -sd ,)
  rm -rf tree/etc/init.d tree/usr/share/doc tree/usr/share/lintian
  # Debian's alternatives
  for program in tree/usr/sbin/*-wlm; do
    [ ! -e "$program" ] || mv "$program" "${program%-wlm}"
  done
  printf '%s: %s\n' Package "$name" Source slurm-smd Version "$version" Architecture "$(dpkg --print-architecture)" \
    Maintainer tests Depends "$needs" Conflicts "$conflicts" Description "Slurm of Debian, packed like SchedMD's" |
    grep -v ': $' >tree/DEBIAN/control
  [ ! -d tree/etc ] || (cd tree && find etc -type f -printf '/%p\n' >DEBIAN/conffiles)
  dpkg-deb --root-owner-group -Zgzip -b tree "$out/${name}_$version.deb" >/dev/null
}

library=$(echo libslurm*.deb)
pack slurm-smd munge "slurm-wlm-basic-plugins, slurm-wlm-mysql-plugin, slurm-wlm-plugins" \
  slurm-wlm-basic-plugins slurm-wlm-mysql-plugin "${library%%_*}"
of_all="slurm-smd (= $version), munge"
pack slurm-smd-client "$of_all" slurm-client slurm-client
for daemon in slurmctld slurmd slurmdbd; do
  pack "slurm-smd-$daemon" "$of_all" "$daemon" "$daemon"
done
pack slurm-smd-sackd "$of_all" "" sackd
pack slurm-smd-libpam-slurm-adopt "$of_all" "" libpam-slurm-adopt
cd "$out"
for file in *.deb; do
  dpkg-deb -f "$file"
  printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
done >Packages
