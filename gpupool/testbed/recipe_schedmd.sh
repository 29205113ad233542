#!/bin/sh
# Makes packages with the names of SchedMD's (slurm-smd) from Debian's packages of Slurm, and an apt repository of them in
# $folder, which apt knows afterwards. $revision: that of their version, 1 for 24.11.5-1. $conflicts: the packages that
# cannot be beside slurm-smd. A package has the files, dependencies and scripts of SchedMD's debian/control and
# debian/rules: no user, no rotation of logs, no profile of PAM, no alternatives. slurm-smd has no plugin for HDF5, IPMI,
# Kafka, InfluxDB and Elasticsearch. Nothing is made if the repository has this revision.
# shellcheck disable=SC2154 # the caller sets folder, revision and conflicts

set -eu
work=$(mktemp -d)

# Prints the names of Debian's packages for the package $1 of SchedMD, from which the files of $1 come.
origins() {
  case $1 in
  slurm-smd)
    apt-cache depends libpam-slurm-adopt | grep -oE 'libslurm[0-9]+(t64)?$' | sort -u
    echo slurm-wlm-basic-plugins slurm-wlm-mysql-plugin slurm-wlm-jwt-plugin
    ;;
  *) echo "${1#slurm-smd-}" | sed 's/^client$/slurm-client/' ;;
  esac
}

# Prints the dependencies of the unpacked packages $@ on others than Slurm, with commas between.
needs() {
  for one; do dpkg-deb -f "$one" Depends; done | tr ',' '\n' | sed 's/^ *//; s/ *$//' |
    grep -vE '^((lib)?slurm|sackd|munge|ucf|adduser|systemd|lsb-base|init-system-helpers|debconf|$)' | sort -u |
    paste -sd , | sed 's/,/, /g'
}

# Writes the scripts of dh_installsystemd for the unit $1 into the folder $2.
scripts() {
  cat > "$2/postinst" <<EOF
#!/bin/sh
set -e
[ "\$1" = configure ] || exit 0
deb-systemd-helper unmask $1.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled $1.service; then
  deb-systemd-helper enable $1.service >/dev/null || true
else
  deb-systemd-helper update-state $1.service >/dev/null || true
fi
[ -d /run/systemd/system ] || exit 0
systemctl --system daemon-reload >/dev/null || true
if [ -n "\$2" ]; then action=restart; else action=start; fi
deb-systemd-invoke \$action $1.service >/dev/null || true
EOF
  cat > "$2/prerm" <<EOF
#!/bin/sh
set -e
[ "\$1" != remove ] || [ ! -d /run/systemd/system ] || deb-systemd-invoke stop $1.service >/dev/null || true
EOF
  cat > "$2/postrm" <<EOF
#!/bin/sh
set -e
[ "\$1" != remove ] || [ ! -d /run/systemd/system ] || systemctl --system daemon-reload >/dev/null || true
[ "\$1" != purge ] || [ ! -x /usr/bin/deb-systemd-helper ] || deb-systemd-helper purge $1.service >/dev/null || true
EOF
  chmod 755 "$2/postinst" "$2/prerm" "$2/postrm"
}

# Downloads packages into the current folder. Lists in an image may be outdated: a mirror removes old packages.
download() { apt-get download --quiet -o APT::Sandbox::User=root "$@" >/dev/null; }

# Makes the package $1.
make() {
  name=$1 tree=$work/$1 debs=$work/debs-$1
  mkdir -p "$tree/DEBIAN" "$debs"
  # shellcheck disable=SC2046 # names, with spaces between
  (cd "$debs" && { download $(origins "$name") || { apt-get update --quiet && download $(origins "$name"); }; })
  for deb in "$debs"/*.deb; do dpkg-deb -x "$deb" "$tree"; done
  version=$(dpkg-deb -f "$deb" Version | sed 's/-[^-]*$//')-$revision
  (
    cd "$tree"
    rm -rf etc/logrotate.d etc/init.d etc/slurm/* usr/lib/sysusers.d usr/lib/tmpfiles.d usr/share/lintian usr/share/doc \
      usr/share/pam-configs usr/share/man
    for program in usr/sbin/*-wlm; do [ ! -e "$program" ] || mv "$program" "${program%-wlm}"; done
  )
  unit='' conflict=$(origins "$name" | tail -n 1) depends="slurm-smd (= $version), munge"
  case $name in
  slurm-smd) depends=munge conflict=$(echo "$conflicts" | sed 's/ /, /g') ;;
  slurm-smd-client) depends="$depends, bash-completion" ;;
  slurm-smd-libpam-slurm-adopt) depends="slurm-smd (>= ${version%-*})" ;;
  slurm-smd-sackd) unit=sackd conflict='' ;;
  *) unit=${name#slurm-smd-} && mkdir -p "$tree/var/log/slurm" ;;
  esac
  more=$(needs "$debs"/*.deb)
  {
    printf 'Package: %s\nSource: slurm-smd\nVersion: %s\n' "$name" "$version"
    printf 'Architecture: %s\nMaintainer: root <root@localhost>\n' "$(dpkg --print-architecture)"
    printf 'Depends: %s%s\n' "$depends" "${more:+, $more}"
    [ -z "$conflict" ] || printf 'Conflicts: %s\n' "$conflict"
    printf 'Description: files of Debian, packed as by SchedMD\n'
  } > "$tree/DEBIAN/control"
  (cd "$tree" && find etc -type f 2>/dev/null | sed 's,^,/,') > "$tree/DEBIAN/conffiles"
  [ -s "$tree/DEBIAN/conffiles" ] || rm "$tree/DEBIAN/conffiles"
  [ "$name" != slurm-smd ] || echo 'activate-noawait ldconfig' > "$tree/DEBIAN/triggers"
  [ -z "$unit" ] || scripts "$unit" "$tree/DEBIAN"
  dpkg-deb --root-owner-group -Zgzip -z1 -b "$tree" "$folder" >/dev/null
}

mkdir -p "$folder"
if ! ls "$folder"/slurm-smd_*-"$revision"_*.deb >/dev/null 2>&1; then
  [ -n "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ] || apt-get update --quiet
  for purpose in -client -slurmctld -slurmd -slurmdbd -sackd -libpam-slurm-adopt ''; do
    # a release may lack one: sackd is in Slurm since 24.05
    [ -z "$purpose" ] || apt-cache show "$(origins "slurm-smd$purpose")" >/dev/null 2>&1 || continue
    make "slurm-smd$purpose"
  done
  (
    cd "$folder"
    for deb in *.deb; do
      dpkg-deb -f "$deb"
      printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d ' ' -f 1)"
    done > Packages
  )
fi
rm -rf "$work"
echo "deb [trusted=yes lang=none] file:$folder ./" > /etc/apt/sources.list.d/slurm-smd.list
apt-get update --quiet -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/slurm-smd.list -o Dir::Etc::sourceparts=/dev/null \
  -o APT::Get::List-Cleanup=0
