#!/bin/sh
# Prints what is exported by NFS now (A, tab, line of etab) and what files say of it (F, tab, file, tab, whole line).
# etab is what mountd answers from; exportfs -v prints the same, folded for the eye.

sed 's/^/A\t/' /var/lib/nfs/etab 2>/dev/null
for file in /etc/exports /etc/exports.d/*.exports; do
  [ ! -f "$file" ] || sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' -e "s,^,F\t$file\t," "$file"
done
