#!/bin/sh
# Decodes the credentials of munge on standard input, one a line; prints unmunge's exit status for each.

while IFS= read -r credential; do
  printf %s "$credential" | timeout 10 unmunge >/dev/null 2>&1
  echo $?
done
