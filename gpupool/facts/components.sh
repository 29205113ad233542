#!/bin/sh
# Prints the archives that apt reads, "T ORIGIN CODENAME URI SUITE", and each line of apt's sources, "L FILE TEXT", with
# tabs between the fields. $1: a file of sources to ignore.
# shellcheck disable=SC2016 # apt replaces them

apt-get indextargets --format 'T	$(ORIGIN)	$(CODENAME)	$(REPO_URI)	$(RELEASE)' \
  'Created-By: Packages' 'Component: main' 2>/dev/null | sort -u
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ "$file" = "$1" ] || [ ! -f "$file" ] || sed "s|^|L	$file	|" "$file"
done
