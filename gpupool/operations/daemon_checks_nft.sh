#!/bin/sh
# After daemon_checks.sh: checks new tables with nft, together with the loaded tables; it loads nothing.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its `no` reads output

lay "$@"
for path in "$@"; do
  output=$(nft -c -f "$dir/${path#"$etc"/}" 2>&1) || no 'Error: '
done
