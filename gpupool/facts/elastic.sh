#!/bin/sh
# Prints "NODE EXTRA" of each node for which slurmctld keeps an Extra; nothing where no slurmctld answers.

timeout 30 scontrol -o show nodes 2>/dev/null | sed -n 's/^NodeName=\([^ ]*\) .* Extra=\([^ ]*\).*/\1 \2/p'
