#!/bin/sh
# Installs packages of other suites of Debian, with dependencies from the image's suite. $others: NAME/SUITE.
# shellcheck disable=SC2154 # the caller sets others
# shellcheck disable=SC2086 # names, with spaces between

other=$(mktemp -d)
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  grep -oE 'https?://[^ ]+' | grep -v security | head -n 1)
# the lists of testing and unstable are valid for a few days, and a mirror may be older
other_apt() {
  apt-get --quiet -o Dir::Etc::sourcelist=$other/sources.list -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists=$other/lists -o Dir::Cache=$other/cache -o Acquire::Check-Valid-Until=false \
    -o APT::Sandbox::User=root "$@"
}
for package in $others; do
  mkdir -p $other/lists/partial $other/cache
  echo "deb $mirror ${package#*/} main" > $other/sources.list
  other_apt update
  (cd $other && other_apt download ${package%/*})
  apt-get install --yes --quiet --no-install-recommends -o DPkg::Use-Pty=0 $other/*.deb
  rm -rf ${other:?}/*
done
rmdir $other
