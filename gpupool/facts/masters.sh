#!/bin/sh
# Prints the programs of a node that own what gpupool sets, with tabs: "hosts FILE" (cloud-init writes /etc/hosts anew at each
# boot, as FILE has it), "reboot FILE" (unattended-upgrades reboots the node), "firewall NAME" (it drops what its rules do not
# let in), "manager NAME WHERE" (a program that configures machines). $1 the own table of nftables, $2 the root of the files,
# "" for the node's own.

table=$1 root=$2 PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
# cloud-init's configuration: a later file counts, and user data at last
if [ -x "$root/usr/bin/cloud-init" ] && [ ! -e "$root/etc/cloud/cloud-init.disabled" ]; then
  data=$root/var/lib/cloud/instance
  for file in "$root/etc/cloud/cloud.cfg" "$root"/etc/cloud/cloud.cfg.d/*.cfg "$data/vendor-cloud-config.txt" \
    "$data/vendor2-cloud-config.txt" "$data/cloud-config.txt"; do
    [ ! -f "$file" ] || awk -v file="$file" '/^manage_etc_hosts:/ { sub(/^[^:]*:[ \t]*/, ""); sub(/[ \t]*(#.*)?$/, "")
      gsub(/["\047]/, ""); value = tolower($0) } END { if (value != "") print file "\t" value }' "$file"
  done | tail -n 1 | awk -F '\t' '$2 ~ /^(true|yes|on|template|localhost)$/ { print "hosts\t" $1 }'
fi
if [ -x "$root/usr/bin/unattended-upgrade" ]; then
  eval "$(apt-config shell reboots Unattended-Upgrade::Automatic-Reboot/b)"
  if [ "${reboots-}" = true ]; then
    # apt reads its files in this order
    file=$(grep -l Automatic-Reboot "$root"/etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf" 2>/dev/null |
      grep -v '/[0-9]*gpupool[^/]*$' | tail -n 1)
    printf 'reboot\t%s\n' "${file:-apt.conf}"
  fi
fi
if grep -qsx 'ENABLED=yes' "$root/etc/ufw/ufw.conf"; then printf 'firewall\tufw\n'
elif systemctl is-active --quiet firewalld; then printf 'firewall\tfirewalld\n'
else nft list chains 2>/dev/null | awk -v own="inet $table" '
  $1 == "table" { name = $2 " " $3 }
  /hook input/ && /policy drop/ && name != own && !(name in seen) { seen[name]; print "firewall\ttable " name }'; fi
for unit in puppet.service puppet-run.timer salt-minion.service chef-client.service chef-client.timer cinc-client.timer \
  cfengine3.service ansible-pull.service ansible-pull.timer; do
  ! systemctl is-active --quiet "$unit" || printf 'manager\t%s\t%s\n' "${unit%.*}" "$unit"
done
for file in "$root/etc/crontab" "$root"/etc/cron.*/* "$root"/var/spool/cron/crontabs/*; do
  [ ! -f "$file" ] || grep -v '^[[:space:]]*#' "$file" |
    grep -oE '(ansible-pull|puppet agent|chef-client|cinc-client|cf-agent|salt-call)' | sort -u |
    while read -r name; do printf 'manager\t%s\t%s\n' "$name" "$file"; done
done
