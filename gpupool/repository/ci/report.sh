#!/bin/sh
# Print a report of `ci/nightly.sh` from standard input. It fails on a difference, and if the report is older than 36 h.
set -eu
IFS=' ' read -r time status || { echo 'the report is empty' >&2; exit 1; }
cat
case $time$status in
'' | *[!0-9]*) echo 'this is not a report of ci/nightly.sh' >&2; exit 1 ;;
esac
if [ "$(($(date +%s) - time))" -gt 129600 ]; then
    echo "the report is of $(date -d "@$time"): does the timer on the administering machine still run?" >&2
    exit 1
fi
exit "$status"
