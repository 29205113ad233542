#!/bin/bash
# Installs a fake GPU driver on a node, version 550.1, from a local repository that also has 560.1.
# $1 "busy": the old module remains loaded until the next boot.

set -e
mkdir -p /srv/repo /srv/driver/nvidia
cd /srv/repo
for version in 550.1-1 560.1-1; do
  mkdir -p build/DEBIAN
  printf 'Package: nvidia-standin\nVersion: %s\nArchitecture: all\nMaintainer: tests\nDescription: stand-in\n' \
    "$version" >build/DEBIAN/control
  dpkg-deb -b build "nvidia-standin_${version}_all.deb" >/dev/null
done
for file in *.deb; do
  dpkg-deb -f "$file"
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
done >Packages
echo 'deb [trusted=yes] file:/srv/repo ./' >/etc/apt/sources.list.d/standin.list
# disable all other sources, so that no test waits for a mirror
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources; do [ ! -e "$file" ] || mv "$file" "$file.away"; done
apt-get -qq update
dpkg -i nvidia-standin_550.1-1_all.deb >/dev/null

cat >/usr/local/sbin/standin-load <<'END'
#!/bin/sh
version=$(dpkg-query -W -f '${Version}' nvidia-standin)
echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${version%-*}  now" >/srv/driver/nvidia/version
mountpoint -q /proc/driver || mount --bind /srv/driver /proc/driver
END
printf '#!/bin/sh\n[ "$*" != nvidia ] || %s\n' "$([ "$1" = busy ] && echo exit 1 || echo standin-load)" >/usr/local/sbin/modprobe
chmod 0755 /usr/local/sbin/standin-load /usr/local/sbin/modprobe
cat >/etc/systemd/system/standin.service <<'END'
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/standin-load
[Install]
WantedBy=multi-user.target
END
systemctl -q enable --now standin
