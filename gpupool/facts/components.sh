#!/bin/sh
# Prints which components of Debian apt reads: "T ORIGIN CODENAME URI SUITE COMPONENT SOURCE", with tabs between, and
# "L FILE TEXT" of each line of its sources. $1 is a file of sources that does not count.

apt-get indextargets 'Created-By: Packages' \
  --format 'T	$(ORIGIN)	$(CODENAME)	$(REPO_URI)	$(RELEASE)	$(COMPONENT)	$(SOURCESENTRY)' 2>/dev/null |
  grep -vF "	$1:" | sort -u
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ "$file" = "$1" ] || [ ! -f "$file" ] || sed "s|^|L	$file	|" "$file"
done
