#!/bin/sh
# Prints the active NFS exports (A, tab, line of etab) and the lines of their files (F, tab, file, tab, line).
# etab is mountd's table of exports; `exportfs -v` prints the same, but breaks lines.

sed 's/^/A\t/' /var/lib/nfs/etab 2>/dev/null
for file in /etc/exports /etc/exports.d/*.exports; do
  [ ! -f "$file" ] || sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' -e "s,^,F\t$file\t," "$file"
done
