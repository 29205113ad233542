#!/bin/sh
# Prints whose archives apt reads: "T ORIGIN CODENAME URI SUITE", with tabs between, and "L FILE TEXT" of each line of its
# sources. $1 is a file of sources that does not count.
# shellcheck disable=SC2016 # apt replaces these

apt-get indextargets --format 'T	$(ORIGIN)	$(CODENAME)	$(REPO_URI)	$(RELEASE)' \
  'Created-By: Packages' 'Component: main' 2>/dev/null | sort -u
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ "$file" = "$1" ] || [ ! -f "$file" ] || sed "s|^|L	$file	|" "$file"
done
