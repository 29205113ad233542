#!/bin/sh
# After daemon_checks.sh: nft tries new tables, with the kernel's own that are there; nothing is loaded.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its no reads said

lay "$@"
for path in "$@"; do
  said=$(nft -c -f "$dir/${path#"$etc"/}" 2>&1) || no 'Error: '
done
