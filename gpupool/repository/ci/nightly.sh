#!/bin/sh
# Compare the nodes with the main branch, and write the report for the CI to $1. It prints nothing.
# A timer starts it each night on the machine that administers the cluster, and whose key the nodes accept.
# The first line of the report has the time in seconds since 1970 and the exit code of `gpupool drift`.
set -eu
report=$1
PATH=$PWD/.venv/bin:$PATH
git pull --quiet --ff-only
status=0
gpupool drift --on nodes inventory >"$report.text" 2>&1 || status=$?
{ printf '%s %s\n' "$(date +%s)" "$status"; cat "$report.text"; } >"$report.new"
rm "$report.text"
mv -f "$report.new" "$report"
